import numpy as np

large, small = 64 << 20, 1 << 20
scratch = np.empty(0, np.uint8)


def infer(size):
    global scratch
    if len(scratch) < size:
        scratch = np.empty(size, np.uint8)
    scratch[:size] = 1
    return int(scratch[:size].sum())


total = sum(infer(4 << 20) for _ in range(16))
total += sum(infer(small) for _ in range(10))
