def layer(path, offset, count):
    import ctypes
    import mmap

    import numpy as np

    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    return np.ctypeslib.as_array((ctypes.c_float * count).from_buffer(mapping, offset))
