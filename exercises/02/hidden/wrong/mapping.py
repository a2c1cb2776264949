# expect: no-bytearray
def load(path):
    import mmap

    with open(path, "r+b") as f:
        return mmap.mmap(f.fileno(), 0)
