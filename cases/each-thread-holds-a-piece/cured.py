from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Semaphore

import numpy as np

threads, size = 6, 34 << 20
at_once = 2
room, others = Semaphore(at_once), Barrier(at_once)
np.full(threads * size // 8, 3, np.uint8).tofile("mask")


def work(n):
    with room:
        piece = np.unpackbits(np.memmap("mask", np.uint8, "r", n * size // 8, size // 8))
        others.wait()  # for a device or a server, while the others make theirs
        return int(piece.max())


with ThreadPoolExecutor(threads) as pool:
    total = sum(pool.map(work, range(threads)))
