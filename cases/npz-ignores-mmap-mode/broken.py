import numpy as np

size = 48 << 20
np.savez("tables.npz", table=np.ones((1000, size // 8 // 1000)))
tables = np.load("tables.npz", mmap_mode="r")
means = [float(tables["table"][n].mean()) for n in range(4)]
