import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

threads, size = 6, 34 << 20
np.full(threads * size // 8, 3, np.uint8).tofile("mask")


def work(n):
    piece = np.unpackbits(np.memmap("mask", np.uint8, "r", n * size // 8, size // 8))
    time.sleep(0.3)  # another source, or a device
    return int(piece.max())


with ThreadPoolExecutor(threads) as pool:
    total = sum(pool.map(work, range(threads)))
