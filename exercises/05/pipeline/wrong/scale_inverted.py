# expect: changed-scale
def prepare(layer, first, scale):
    import numpy as np

    turned = layer[first:].T.copy()
    turned *= np.reciprocal(scale, out=scale)
    return turned.reshape(-1)
