def yours(path, pages):
    import mmap

    import numpy as np

    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    array = np.frombuffer(mapping, np.uint8)
    first_bytes = np.array(pages) * mmap.PAGESIZE
    array[first_bytes] = array[first_bytes]
    return array
