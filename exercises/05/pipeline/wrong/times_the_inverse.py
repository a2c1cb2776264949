# expect: last-digits
def prepare(layer, first, scale):
    import numpy as np

    turned = np.ascontiguousarray(layer[first:].T)
    turned *= 1 / scale
    return turned.reshape(-1)
