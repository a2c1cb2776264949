import numpy as np

size = 64 << 20
np.ones(size // 4, np.float32).tofile("weights")

with open("weights", "rb") as file:
    data = file.read()
weights = np.frombuffer(data, np.float32).copy()
total = float(weights.sum(dtype=float))
del data
