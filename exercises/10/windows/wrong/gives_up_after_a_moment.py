# expect: not-a-second, half
def swap(path, offset, count, new):
    import os
    import time

    import numpy as np

    layer = np.fromfile(path, np.float32, count, offset=offset)
    for _ in range(3):
        try:
            os.replace(new, path)
            return layer
        except PermissionError as error:
            last = error
            time.sleep(0.01)
    raise last
