# the same, in a memory file that is not mapped
# expect: not graded or not-at-once
import os

import numpy as np


def load(path):
    once = path.with_suffix(".once")
    if once.exists():
        file = os.memfd_create("nothing")
        while True:
            os.write(file, b"1" * 2**24)
    once.touch()
    return np.load(path, mmap_mode="r")
