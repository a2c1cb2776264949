import numpy as np

size = 64 << 20
np.ones(size // 4, np.float32).tofile("weights")

weights = np.fromfile("weights", np.float32)
total = float(weights.sum(dtype=float))
