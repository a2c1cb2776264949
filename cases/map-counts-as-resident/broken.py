import numpy as np

size = 96 << 20
np.ones(size, np.uint8).tofile("model")
model = np.memmap("model", mode="r")
total = 0
for n in range(0, size, 8 << 20):
    total += int(model[n : n + (8 << 20)].sum())
