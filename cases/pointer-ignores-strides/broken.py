import ctypes

import numpy as np

table = np.arange(12, dtype=np.int64).reshape(3, 4)
column = table[:, 1]
copy = np.empty(3, np.int64)
ctypes.memmove(copy.ctypes.data, column.ctypes.data, column.nbytes)
numbers = copy.tolist()
