import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

size = 64 << 20
table = pa.table({"price": np.ones(size // 8)})
parquet.write_table(table, "prices.parquet", row_group_size=1 << 18)
del table
batches = parquet.ParquetFile("prices.parquet", memory_map=True).iter_batches()
total = sum(pc.sum(batch["price"]).as_py() for batch in batches)
