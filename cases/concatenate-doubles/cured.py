import numpy as np

size, pieces = 64 << 20, 16
whole = np.empty(size // 8)
for n, place in enumerate(np.split(whole, pieces)):
    place[:] = np.full(size // pieces // 8, n, float)
total = float(whole.sum())
