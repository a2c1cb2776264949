# expect: other-bytes
def yours(path, pages):
    import mmap

    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    for page in pages:
        mapping[page * mmap.PAGESIZE] = 0
    return mapping
