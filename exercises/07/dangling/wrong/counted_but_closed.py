# expect: close-refused
def layer(path, offset, count):
    import mmap

    import numpy as np

    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
        return np.frombuffer(mapping, np.float32, count, offset)
