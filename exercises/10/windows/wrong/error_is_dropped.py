# expect: swallowed, half
def swap(path, offset, count, new):
    import os
    import time

    import numpy as np

    layer = np.fromfile(path, np.float32, count, offset=offset)
    for pause in [0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.5]:
        try:
            os.replace(new, path)
            return layer
        except PermissionError:
            time.sleep(pause)
    return layer
