import multiprocessing
import os

import numpy as np


def memory(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return int(file.read().split("\nRss:")[1].split()[0]) << 10


def work(n):
    return float(table[n::4].sum())


if __name__ == "__main__":
    size = 96 << 20
    table = np.ones(size // 8)
    with multiprocessing.get_context("fork").Pool(4) as pool:
        pool.map(work, range(4))
        workers = multiprocessing.active_children()
        total = sum(memory(pid) for pid in (os.getpid(), *(worker.pid for worker in workers)))
