from multiprocessing.pool import ThreadPool
from threading import Event

import numpy as np

count, size, all_made = 12, 8 << 20, Event()


def image(n):
    return np.full(size // 8, n, float)


def inputs():
    for n in range(count):
        yield image(n)
    all_made.set()


def mean(image):
    all_made.wait(10)  # work that is slower than the reading
    return float(image.mean())


with ThreadPool(2) as pool:
    means = list(pool.imap(mean, inputs()))
