def normalise(weights):
    import numpy as np

    from helpers.ideas.cow import Cow

    mine, total = Cow.borrowed(weights), float(weights.sum(dtype="f8"))
    if abs(total - 1) > 1e-5:
        np.divide(mine.to_mut(), total, out=mine.to_mut())
    return mine
