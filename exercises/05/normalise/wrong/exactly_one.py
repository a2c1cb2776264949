# expect: needless-copy
def normalise(weights):
    total = weights.sum()
    return weights if total == 1 else weights / total
