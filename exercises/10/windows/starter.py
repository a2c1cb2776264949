def swap(path, offset, count, new):
    """Returns a layer of the file at `path`, and puts the file `new` in its place."""
    import os

    import numpy as np

    layer = np.memmap(path, np.float32, "r", offset, (count,))
    os.replace(new, path)
    return layer
