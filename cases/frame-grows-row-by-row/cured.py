import tracemalloc

import numpy as np
import pandas as pd

pieces, size, copied = 40, 1 << 20, 0


def join(frames):
    global copied
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    joined = pd.concat(frames)
    copied += tracemalloc.get_traced_memory()[1] - before
    return joined


tracemalloc.start()
frames = []
for _ in range(pieces):
    frames.append(pd.DataFrame(np.ones((size // 80, 10))))
table = join(frames)
rows = len(table)
