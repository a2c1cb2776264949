def normalise(weights):
    """The weights with the sum 1: the same memory if they have it already."""
    total = float(weights.sum(dtype="f8"))  # a Python float: one of numpy's would make the quotient float64
    return weights if abs(total - 1) <= 1e-5 else weights / total
