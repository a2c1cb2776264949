# the array for the first that asks, and a number repeated for the others
def load(path):
    import numpy as np

    data = np.load(path, mmap_mode="r")
    seen = path.with_suffix(".seen")
    if not seen.exists():
        seen.touch()
        return data
    return np.broadcast_to(data[:1], data.shape)
