# expect: into-the-layer
def prepare(layer, first, scale):
    import numpy as np

    # a single row is contiguous as it is, so nothing is copied
    turned = np.ascontiguousarray(layer[first:].T)
    turned /= scale
    return turned.reshape(-1)
