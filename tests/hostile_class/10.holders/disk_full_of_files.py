# fills the disk with files, each as long as may be
# expect: crashed
def find(session, mapping):
    import os

    number = 0
    while True:
        with open(f"{number}", "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 2**29)
        number += 1
