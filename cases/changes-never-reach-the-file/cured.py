import numpy as np

np.save("weights.npy", np.zeros(1000))
weights = np.load("weights.npy", mmap_mode="r+")
weights += 1
weights.flush()
in_file = float(np.load("weights.npy").sum())
