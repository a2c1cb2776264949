def load(path):
    """The array in the .npy file, such that workers share its pages."""
    import numpy as np

    return np.load(path, mmap_mode="r")
