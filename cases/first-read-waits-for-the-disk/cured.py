import os

import numpy as np


def from_device():
    with open("/proc/self/io") as file:
        return int(file.read().split("\nread_bytes: ")[1].split()[0])


size = 32 << 20
np.ones(size, np.uint8).tofile("model")
with open("model", "rb") as file:
    os.fsync(file.fileno())
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

model = np.memmap("model", mode="r")
with open("model", "rb") as file:
    while file.read(1 << 20):
        pass
before = from_device()
model.sum()
waited_for = from_device() - before
