# expect: still-open
def swap(path, offset, count, new):
    import os
    import time

    import numpy as np

    file = open(path, "rb")
    layer = np.fromfile(file, np.float32, count, offset=offset)
    for pause in [0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.5]:
        try:
            os.replace(new, path)
            return layer
        except PermissionError as error:
            last = error
            time.sleep(pause)
    raise last
