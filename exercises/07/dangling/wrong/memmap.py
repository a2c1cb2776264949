# expect: not-counted
def layer(path, offset, count):
    import numpy as np

    return np.memmap(path, np.float32, "r", offset, count)
