import numpy as np
import pyarrow as pa
from pyarrow import feather

size = 64 << 20
table = pa.table({"price": np.arange(size // 8)})
feather.write_feather(table, "prices.feather")
del table
table = feather.read_table("prices.feather", memory_map=True)
last = table["price"][-1].as_py()
