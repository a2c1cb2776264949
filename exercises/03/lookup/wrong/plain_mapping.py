# expect: read-ahead
# on: linux
def lookup(path, positions):
    import mmap

    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
        return bytes(mapping[at] for at in positions)
