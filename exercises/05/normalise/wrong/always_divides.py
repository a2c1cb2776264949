# expect: needless-copy
def normalise(weights):
    return weights / weights.sum()
