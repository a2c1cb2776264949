import numpy as np
import pandas as pd

files, size = 4, 40 << 20
prices = []
for _ in range(files):
    frame = pd.DataFrame(np.ones((size // 8 // 100, 100)))
    prices.append(frame[7].copy())
del frame
kept = sum(column.memory_usage() for column in prices)
