# expect: not-done
def normalise(weights):
    total = weights.sum()
    return weights if round(total, 2) == 1 else weights / total
