# expect: too-much-memory
def prepare(layer, first, scale):
    import numpy as np

    rows = layer[np.arange(first, len(layer))]
    return (rows.T / scale).reshape(-1)
