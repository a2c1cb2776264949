# expect: file-open
# on: linux
def layer(path, offset, count):
    import mmap
    import os

    import numpy as np

    mapping = mmap.mmap(os.open(path, os.O_RDONLY), 0, access=mmap.ACCESS_READ)
    return np.frombuffer(mapping, np.float32, count, offset)
