import pandas as pd
import pyarrow as pa

files, size = 3, 40 << 20
names = []
for n in range(files):
    column = pd.Series(pd.array(pa.repeat(f"{n:4000}", size // 4000), dtype="string[pyarrow]"))
    names.append(column.iloc[:10].copy())
del column
pa.default_memory_pool().release_unused()
in_use = pa.total_allocated_bytes()
