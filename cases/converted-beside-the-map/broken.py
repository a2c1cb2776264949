import numpy as np

layers, size = 8, 48 << 20
np.ones(size // 2, np.float16).tofile("weights")

weights = np.memmap("weights", np.float16, "r").reshape(layers, -1)
weights = [layer.astype(np.float32) for layer in weights]
total = 0.0
for layer in weights:
    total += float(layer.sum())
