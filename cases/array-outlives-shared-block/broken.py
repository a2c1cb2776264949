from multiprocessing.shared_memory import SharedMemory

import numpy as np


def shared_array(count):
    block = SharedMemory(create=True, size=count)
    block.unlink()
    return np.ndarray(count, np.uint8, buffer=block.buf)


numbers = shared_array(1000)
total = int(numbers.sum())
