import numpy as np

size = 96 << 20
np.ones(size, np.uint8).tofile("model")
total = 0
for n in range(0, size, 8 << 20):
    total += int(np.memmap("model", mode="r", offset=n, shape=8 << 20).sum())
