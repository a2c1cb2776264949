def load(path):
    import mmap

    import numpy as np

    with open(path, "rb") as f:
        mapping = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
    return np.frombuffer(mapping, "f8", offset=128)
