def layer(path, offset, count):
    """The `count` float32 numbers that begin at byte `offset` of the file."""
    import mmap

    import numpy as np

    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return np.frombuffer(mapping, np.float32, count, offset)
