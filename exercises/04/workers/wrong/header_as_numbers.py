# expect: header
def load(path):
    import numpy as np

    return np.fromfile(path)
