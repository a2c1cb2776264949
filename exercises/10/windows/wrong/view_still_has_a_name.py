# expect: view-has-a-name
def swap(path, offset, count, new):
    import mmap
    import os
    import time

    import numpy as np

    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
        view = np.frombuffer(mapping, np.float32, count, offset)
        layer = view.copy()
    for pause in [0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.5]:
        try:
            os.replace(new, path)
            return layer
        except PermissionError as error:
            last = error
            time.sleep(pause)
    raise last
