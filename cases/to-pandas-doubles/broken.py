import numpy as np
import pyarrow as pa

size, count = 64 << 20, 16
columns = {f"c{n}": np.ones(size // count // 8) for n in range(count)}
table = pa.table(columns)
del columns
frame = table.to_pandas()
del table
total = float(frame["c3"].sum())
