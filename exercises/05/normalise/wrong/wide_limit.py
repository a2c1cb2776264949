# expect: not-done
def normalise(weights):
    total = weights.sum()
    return weights if abs(total - 1) <= 2.5e-5 else weights / total
