# expect: wrong-dtype
def load(path):
    import numpy as np

    return np.load(path, mmap_mode="r").astype("f4")
