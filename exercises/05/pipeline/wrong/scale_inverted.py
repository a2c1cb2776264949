# expect: changed-scale
def prepare(layer, first, scale):
    import numpy as np

    turned = np.ascontiguousarray(layer[first:].T)
    turned *= np.reciprocal(scale, out=scale)
    return turned.reshape(-1)
