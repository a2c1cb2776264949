# expect: into-the-layer
def prepare(layer, first, scale):
    import numpy as np

    turned = np.ascontiguousarray(
        layer[first:].T
    )  # a single row is contiguous as it is, so nothing is copied
    turned /= scale
    return turned.reshape(-1)
