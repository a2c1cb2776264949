# expect: not-private
def yours(path, pages):
    import mmap

    with open(path, "r+b") as file:
        mapping = mmap.mmap(file.fileno(), 0)
    for page in pages:
        mapping[page * mmap.PAGESIZE] = 0
    return mapping
