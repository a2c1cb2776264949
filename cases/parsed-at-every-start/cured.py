import os
import tracemalloc

import numpy as np

rows = 60_000
size = rows * 4 * 8
with open("vectors.txt", "w") as file:
    file.write("0.25 1.25 -2.5 3.75\n" * rows)


def load():
    made = os.path.getmtime("vectors.npy") if os.path.exists("vectors.npy") else 0
    if made < os.path.getmtime("vectors.txt"):
        np.save(part := f"{os.getpid()}.npy", np.loadtxt("vectors.txt"))
        os.replace(part, "vectors.npy")
    return np.load("vectors.npy", mmap_mode="r")


for _start in range(2):
    tracemalloc.start()
    vectors = load()
    taken_at_start = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
total = float(vectors.sum())
