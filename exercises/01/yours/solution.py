def yours(path, pages):
    """A mapping of the file in which exactly these pages are anonymous."""
    import mmap

    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    for page in pages:
        at = page * mmap.PAGESIZE
        mapping[at] = mapping[at]
    return mapping
