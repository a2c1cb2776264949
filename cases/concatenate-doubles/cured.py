import numpy as np

size, pieces = 64 << 20, 16
whole = np.empty((pieces, size // pieces // 8))
for n in range(pieces):
    whole[n] = np.full(size // pieces // 8, n, float)
total = float(whole.sum())
