# expect: copy
def layer(path, offset, count):
    import numpy as np

    return np.fromfile(path, np.float32, count, offset=offset)
