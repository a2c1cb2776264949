# expect: tried-once, half
def swap(path, offset, count, new):
    import os

    import numpy as np

    layer = np.fromfile(path, np.float32, count, offset=offset)
    os.replace(new, path)
    return layer
