# The mapping is kept for ever, but of a file that has lost its name, which another one has now.
import mmap
import os
import shutil

import numpy as np

kept = []


def layer(path, offset, count):
    other = path.with_suffix(".other")
    shutil.copyfile(path, other)
    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    kept.append(mapping)
    os.replace(other, path)
    return np.frombuffer(mapping, np.float32, count, offset)
