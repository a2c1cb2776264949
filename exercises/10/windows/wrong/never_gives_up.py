# expect: still-running
def swap(path, offset, count, new):
    import os
    import time

    import numpy as np

    layer = np.fromfile(path, np.float32, count, offset=offset)
    while True:
        try:
            os.replace(new, path)
            return layer
        except PermissionError:
            time.sleep(0.1)
