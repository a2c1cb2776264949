import warnings

import numpy as np
import pandas as pd

columns, size = 128, 64 << 20
warnings.simplefilter("ignore", pd.errors.PerformanceWarning)
table = pd.DataFrame(index=range(size // 8 // columns))
for n in range(columns):
    table[f"c{n}"] = np.ones(len(table))
total = float(table.sum().sum())
