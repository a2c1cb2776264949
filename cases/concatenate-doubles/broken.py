import numpy as np

size, pieces = 64 << 20, 16
parts = [np.full(size // pieces // 8, n, float) for n in range(pieces)]
whole = np.concatenate(parts)
total = float(whole.sum())
del parts
