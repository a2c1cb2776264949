import os

import numpy as np

size = 32 << 20
np.ones(size, np.uint8).tofile("log")
log = np.memmap("log", mode="r")
os.remove("log")

with open("/proc/self/maps") as file:
    lines = file.readlines()
ranges = [line.split()[0].split("-") for line in lines if "/log (deleted)" in line]
still_there = sum(int(end, 16) - int(start, 16) for start, end in ranges)
