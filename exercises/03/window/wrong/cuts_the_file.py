# expect: source-changed
def largest_sum(path, width):
    import os

    import numpy as np

    best, step = 0, 2**18
    for at in reversed(range(0, os.path.getsize(path) - width + 1, step)):
        part = np.fromfile(path, np.uint8, step + width - 1, offset=at)
        sums = np.insert(np.cumsum(part, dtype=np.int64), 0, 0)
        best = max(best, int((sums[width:] - sums[:-width]).max(initial=0)))
        os.truncate(path, at + width - 1)
    return best
