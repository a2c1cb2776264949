# expect: at-the-edge
def largest_sum(path, width):
    import mmap
    import os

    import numpy as np

    best, size, step = 0, os.path.getsize(path), 2**16
    with open(path, "rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    for at in range(0, size - width + 1, step):
        part = np.frombuffer(data, np.uint8, min(step + width - 1, size - 1 - at), at)
        sums = np.insert(np.cumsum(part, dtype=np.int64), 0, 0)
        best = max(best, int((sums[width:] - sums[:-width]).max(initial=0)))
    return best
