# expect: into-the-layer
def prepare(layer, first, scale):
    rows = layer[first:]
    rows /= scale[:, None]
    return rows.T.ravel()
