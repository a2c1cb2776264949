# expect: too-much-memory
def normalise(weights):
    total = float(weights.astype("f8").sum())
    return weights if abs(total - 1) <= 1e-5 else weights / total
