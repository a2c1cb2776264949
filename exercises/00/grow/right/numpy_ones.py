def grow():
    import numpy as np

    return np.ones(64 * 2**20, np.uint8)
