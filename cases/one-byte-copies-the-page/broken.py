import numpy as np

size = 64 << 20
np.ones((size // 4096, 4096), np.uint8).tofile("records")
records = np.memmap("records", mode="c", shape=(size // 4096, 4096))
seen = records[:, 0]
seen[:] = 0
total = int(seen.sum())
