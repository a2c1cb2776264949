import numpy as np

np.arange(1000).tofile("log")
rows = np.memmap("log", int, "r")
with open("log", "ab") as file:
    np.arange(500).tofile(file)
rows = np.memmap("log", int, "r")
seen = len(rows)
