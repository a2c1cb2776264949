# expect: changed-input
def normalise(weights):
    weights /= weights.sum()
    return weights
