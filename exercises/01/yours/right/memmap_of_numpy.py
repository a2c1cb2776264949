def yours(path, pages):
    import mmap

    import numpy as np

    mapped = np.memmap(path, np.uint8, "c")
    for page in pages:
        mapped[page * mmap.PAGESIZE] |= 0
    return mapped
