import numpy as np

size = 64 << 20
table = np.ones((size // 800, 100))
rows = np.arange(len(table) // 10, len(table))
train = table[rows]
total = float(train.sum())
