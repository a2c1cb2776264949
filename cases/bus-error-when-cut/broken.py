import numpy as np

np.ones(1 << 20).tofile("numbers")
numbers = np.memmap("numbers")
with open("numbers", "w") as file:
    file.write("short")
    file.flush()
    print(numbers.sum())
