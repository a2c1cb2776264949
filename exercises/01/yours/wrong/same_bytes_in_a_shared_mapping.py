# expect: not-private
# on: linux
def yours(path, pages):
    import mmap

    with open(path, "r+b") as file:
        mapping = mmap.mmap(file.fileno(), 0)
    for page in pages:
        at = page * mmap.PAGESIZE
        mapping[at] = mapping[at]
    return mapping
