import mmap


def content(path, length):
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), length, access=mmap.ACCESS_READ)


first = content("/dev/urandom", 4096)[:16]
