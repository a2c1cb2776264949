def lookup(path, positions):
    """The bytes at these positions, for little more than a page each."""
    import mmap

    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
        mapping.madvise(mmap.MADV_RANDOM)
        return bytes(mapping[at] for at in positions)
