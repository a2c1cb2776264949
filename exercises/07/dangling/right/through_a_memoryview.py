def layer(path, offset, count):
    import mmap

    import numpy as np

    with open(path, "rb") as file:
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    return np.frombuffer(view[offset : offset + 4 * count], "<f4")
