import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

groups, size = 32, 4 << 20
random = np.random.default_rng(1)
with pq.ParquetWriter("table.parquet", pa.schema({"x": pa.float64()})) as file:
    for _ in range(groups):
        file.write_table(pa.table({"x": random.random(size // 8)}))
file = pq.ParquetFile("table.parquet", pre_buffer=False)
rows = sum(len(batch) for batch in file.iter_batches())
most = pa.default_memory_pool().max_memory()
