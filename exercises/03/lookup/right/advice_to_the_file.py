# on: linux
def lookup(path, positions):
    import os

    file = os.open(path, os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
    return b"".join(os.pread(file, 1, at) for at in positions)
