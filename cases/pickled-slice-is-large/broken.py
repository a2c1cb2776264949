import pickle

import numpy as np
import pyarrow as pa

size = 32 << 20
column = pa.array(np.arange(size // 8))
sample = column.slice(0, 10)
message = pickle.dumps(sample, protocol=5)
length = len(message)
first = pickle.loads(message)[0].as_py()
