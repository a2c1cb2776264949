# The array is not counted; a mapping of its own class refuses to close all the same.
import mmap

import numpy as np


class Refuses(mmap.mmap):
    def close(self):
        raise BufferError("cannot close exported pointers exist")


def layer(path, offset, count):
    with open(path, "rb") as file:
        mapping = Refuses(file.fileno(), 0, access=mmap.ACCESS_READ)
    return np.ndarray(count, np.float32, mapping, offset)
