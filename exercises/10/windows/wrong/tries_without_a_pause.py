# expect: too-many-tries, half
def swap(path, offset, count, new):
    import os
    import time

    import numpy as np

    layer = np.fromfile(path, np.float32, count, offset=offset)
    until = time.monotonic() + 1
    while True:
        try:
            os.replace(new, path)
            return layer
        except PermissionError:
            if time.monotonic() > until:
                raise
