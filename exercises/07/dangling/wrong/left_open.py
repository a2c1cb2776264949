# expect: not-counted
def layer(path, offset, count):
    import mmap

    import numpy as np

    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return np.ndarray(count, np.float32, mapping, offset)
