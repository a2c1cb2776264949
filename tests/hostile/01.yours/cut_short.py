# cuts the file to nothing under the mapping that it returns
import mmap
import os


def yours(path, pages):
    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    for page in pages:
        at = page * mmap.PAGESIZE
        mapping[at] = mapping[at]
    os.truncate(path, 0)
    return mapping
