# makes the name bytearray, for everybody, mean a mapping
import builtins
import mmap


def load(path):
    builtins.bytearray = mmap.mmap
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
