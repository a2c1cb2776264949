def prepare(layer, first, scale):
    """The rows from `first` on, each divided by its scale: column after column."""
    turned = layer[first:].T.copy()  # the one copy: column after column
    turned /= scale
    return turned.reshape(-1)  # a view: the numbers lie in this order already
