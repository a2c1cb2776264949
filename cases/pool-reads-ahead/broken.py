import time
from multiprocessing.pool import ThreadPool

import numpy as np

count, size = 24, 4 << 20


def images():
    for n in range(count):
        yield np.full(size // 8, n, float)


def mean(image):
    time.sleep(0.06)
    return float(image.mean())


with ThreadPool(2) as pool:
    for value in pool.imap(mean, images()):
        print(value)
