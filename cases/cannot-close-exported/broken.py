import mmap

import numpy as np

memory = mmap.mmap(-1, 1 << 20)
numbers = np.frombuffer(memory, np.uint8)
total = numbers.sum()
memory.close()
