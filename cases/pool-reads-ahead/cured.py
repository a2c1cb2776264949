from multiprocessing.pool import ThreadPool
from threading import Event, Semaphore

import numpy as np

count, size, all_made = 12, 8 << 20, Event()
room = Semaphore(4)


def images():
    for n in range(count):
        room.acquire()
        yield np.full(size // 8, n, float)
    all_made.set()


def mean(image):
    all_made.wait(0.2)  # work
    return float(image.mean())


with ThreadPool(2) as pool:
    for value in pool.imap(mean, images()):
        print(value)
        room.release()
