# expect: own-copy
def load(path):
    import numpy as np

    return np.load(path)
