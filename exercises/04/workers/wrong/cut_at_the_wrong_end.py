# expect: other-numbers
def load(path):
    import numpy as np

    return np.memmap(path, dtype="f8", mode="r")[:-16]
