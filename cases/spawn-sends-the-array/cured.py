import multiprocessing

import numpy as np


def work(path):
    table = np.load(path, mmap_mode="r")
    total = float(table.sum())
    with open("/proc/self/status") as file:
        return total, int(file.read().split("RssAnon:")[1].split()[0]) << 10


if __name__ == "__main__":
    size = 40 << 20
    np.save("table.npy", np.ones(size // 8))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        total, in_worker = pool.apply(work, ("table.npy",))
