import numpy as np
import pyarrow as pa

size, files = 64 << 20, 8
column = pa.chunked_array([np.ones(size // files // 8) for _ in range(files)])
arrays = [column.to_numpy()]
total = float(sum(array.sum() for array in arrays))
