def normalise(weights):
    from math import isclose

    total = weights.sum(dtype="f8")
    if not isclose(total, 1, rel_tol=0, abs_tol=1e-5):
        weights = weights.copy()
        weights /= total
    return weights
