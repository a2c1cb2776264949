import numpy as np

np.arange(1 << 16).tofile("records")
total = 0
with open("records", "rb", buffering=0) as file:
    while record := file.read(16):
        total += record[0]
