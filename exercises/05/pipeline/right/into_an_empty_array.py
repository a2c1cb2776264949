def prepare(layer, first, scale):
    import numpy as np

    out = np.empty((layer.shape[1], len(layer) - first), layer.dtype)
    np.divide(layer[first:].astype("f4", copy=False).T, scale, out=out)
    return out.reshape(-1)
