# keeps memory in a file that has no name and is not mapped
# expect: memory-limit or endless-file
def copy_small(source, target):
    import os

    file = os.memfd_create("nothing")
    while True:
        os.write(file, b"1" * 2**24)
