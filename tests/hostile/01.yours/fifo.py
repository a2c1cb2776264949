# puts a FIFO that nobody writes into in the file's place
import mmap
import os


def yours(path, pages):
    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    for page in pages:
        at = page * mmap.PAGESIZE
        mapping[at] = mapping[at]
    os.unlink(path)
    os.mkfifo(path)
    return mapping
