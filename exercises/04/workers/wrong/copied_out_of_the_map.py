# expect: own-copy
def load(path):
    import numpy as np

    return np.array(np.load(path, mmap_mode="r"))
