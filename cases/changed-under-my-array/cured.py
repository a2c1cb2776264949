import os

import numpy as np

np.save("x.npy", np.full(1000, 1))
array = np.load("x.npy", mmap_mode="r")
np.save("new.npy", np.full(1000, 2))
os.replace("new.npy", "x.npy")
first = int(array[0])
in_file = int(np.load("x.npy")[0])
