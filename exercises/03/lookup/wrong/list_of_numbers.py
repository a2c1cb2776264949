# expect: other-type
def lookup(path, positions):
    import mmap

    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
        return [mapping[at] for at in positions]
