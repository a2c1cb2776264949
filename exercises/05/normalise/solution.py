def normalise(weights):
    """The weights, made to add up to 1: the same memory if they do already."""
    # a Python float: one of numpy's would make the quotient float64
    total = float(weights.sum(dtype="f8"))
    return weights if abs(total - 1) <= 1e-5 else weights / total
