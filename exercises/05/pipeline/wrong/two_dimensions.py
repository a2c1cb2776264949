# expect: wrong-shape
def prepare(layer, first, scale):
    turned = layer[first:].T.copy()
    turned /= scale
    return turned
