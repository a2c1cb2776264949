# expect: source-changed
def load(path):
    import numpy as np

    weights = np.load(path, mmap_mode="r+")
    return np.clip(weights, 0, 1, out=weights)
