def normalise(weights):
    import numpy as np

    total = float(np.add.reduce(weights, axis=None, dtype=np.float64))
    if -1e-5 <= total - 1 <= 1e-5:
        return weights
    return np.divide(weights, total, out=np.empty_like(weights))
