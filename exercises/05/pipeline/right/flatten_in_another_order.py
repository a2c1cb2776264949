def prepare(layer, first, scale):
    flat = layer[first:].flatten("F")
    flat.reshape(-1, len(scale))[:] /= scale
    return flat
