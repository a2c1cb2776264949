# expect: wrong-shape
def prepare(layer, first, scale):
    import numpy as np

    turned = np.ascontiguousarray(layer[first:].T)
    turned /= scale
    return turned
