def normalise(weights):
    import numpy as np

    total = weights.sum()
    return weights[:] if np.isclose(total, 1, atol=0) else weights / total
