import numpy as np

size = 64 << 20
np.save("table.npy", np.ones((size // 4096, 512), order="C"))
table = np.load("table.npy", mmap_mode="r")
total = float(table[:, 7].sum())
