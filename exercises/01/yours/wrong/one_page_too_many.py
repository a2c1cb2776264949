# expect: other-pages
def yours(path, pages):
    import mmap

    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    for page in [0, *pages]:
        at = page * mmap.PAGESIZE
        mapping[at] = mapping[at]
    return mapping
