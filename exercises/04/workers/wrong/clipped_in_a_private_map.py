# expect: copied-on-write
# on: linux
def load(path):
    import numpy as np

    weights = np.load(path, mmap_mode="c")
    return np.clip(weights, 0, 1, out=weights)
