import numpy as np

size = 48 << 20
np.save("table.npy", np.ones((1000, size // 8 // 1000)))
table = np.load("table.npy", mmap_mode="r")
means = [float(table[n].mean()) for n in range(4)]
