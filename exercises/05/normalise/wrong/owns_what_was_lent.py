# expect: owned-by-the-caller
def normalise(weights):
    from helpers.ideas.cow import Cow

    total = float(weights.sum(dtype="f8"))
    return Cow.owned(weights if abs(total - 1) <= 1e-5 else weights / total)
