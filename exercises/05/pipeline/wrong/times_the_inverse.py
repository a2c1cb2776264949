# expect: last-digits
def prepare(layer, first, scale):
    turned = layer[first:].T.copy()
    turned *= 1 / scale
    return turned.reshape(-1)
