# an array that is larger than anything that is sent back
def take(path, name):
    import numpy as np

    return np.broadcast_to(np.float32(0), (1 << 20, 1 << 20))
