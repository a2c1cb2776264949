# The result has as many numbers as no machine has, all of them the same four bytes.
import numpy as np


def normalise(weights):
    return np.broadcast_to(np.float32(0.25), (2**40,))
