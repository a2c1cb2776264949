# expect: wrong-dtype
def normalise(weights):
    total = weights.sum(dtype="f8")
    return weights if abs(total - 1) <= 1e-5 else weights / total
