import os

import numpy as np

np.ones(1 << 20).tofile("numbers")
numbers = np.memmap("numbers")
with open("new", "w") as file:
    file.write("short")
    file.flush()
    os.replace("new", "numbers")
    print(numbers.sum())
