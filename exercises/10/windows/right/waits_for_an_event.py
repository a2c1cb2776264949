def swap(path, offset, count, new):
    import os
    import threading

    import numpy as np

    layer = np.fromfile(path, np.float32, count, offset=offset)
    never = threading.Event()
    for tries_left in reversed(range(20)):
        try:
            os.replace(new, path)
            return layer
        except PermissionError:
            if not tries_left:
                raise
            never.wait(0.05)
