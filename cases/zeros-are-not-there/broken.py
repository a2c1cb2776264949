import os

import numpy as np


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


size, before = 64 << 20, resident()
table = np.zeros((64, size // 64), np.uint8)
at_first = resident() - before
for row in table:
    row[:] = 7
