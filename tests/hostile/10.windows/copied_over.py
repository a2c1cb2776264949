# writes the new bytes into the old file, and takes the new one away: no name changes
def swap(path, offset, count, new):
    import os
    import shutil

    import numpy as np

    layer = np.fromfile(path, np.float32, count, offset=offset)
    shutil.copyfile(new, path)
    os.remove(new)
    return layer
