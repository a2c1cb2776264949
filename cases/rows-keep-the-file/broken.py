import numpy as np

files, size = 4, 40 << 20
kept = 0
rows = []
for _ in range(files):
    table = np.ones((size // 800, 100))
    rows.append(table[:10])
    kept += rows[-1].nbytes
del table
