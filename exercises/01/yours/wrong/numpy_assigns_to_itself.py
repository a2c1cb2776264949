# expect: untouched
# on: linux
def yours(path, pages):
    import mmap

    import numpy as np

    mapping = np.memmap(path, np.uint8, "c")
    for page in pages:
        part = slice(page * mmap.PAGESIZE, (page + 1) * mmap.PAGESIZE)
        mapping[part] = mapping[part]
    return mapping
