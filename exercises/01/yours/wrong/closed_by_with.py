# expect: closed
def yours(path, pages):
    import mmap

    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as mapping:
        for page in pages:
            at = page * mmap.PAGESIZE
            mapping[at] = mapping[at]
        return mapping
