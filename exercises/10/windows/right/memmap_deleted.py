def swap(path, offset, count, new):
    import time
    from pathlib import Path

    import numpy as np

    weights = np.memmap(path, np.uint8, "r")
    layer = np.array(weights[offset : offset + 4 * count]).view(np.float32)
    del weights
    for _ in range(10):
        try:
            Path(new).replace(path)
            break
        except OSError:
            time.sleep(0.1)
    else:
        Path(new).replace(path)
    return layer
