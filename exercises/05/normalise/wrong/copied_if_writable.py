# expect: changed-input
def normalise(weights):
    if weights.flags.writeable and abs(weights.sum() - 1) > 1e-5:
        weights = weights.copy()
    if abs(weights.sum() - 1) > 1e-5:
        weights /= weights.sum()
    return weights
