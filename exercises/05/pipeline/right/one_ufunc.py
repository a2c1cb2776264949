def prepare(layer, first, scale):
    import numpy as np

    return np.divide(layer[first:].T, scale, order="C").ravel()
