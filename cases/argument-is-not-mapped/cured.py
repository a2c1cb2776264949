import numpy as np
from joblib import Parallel, delayed

size = 32 << 20


def part(table, n):
    return float(table[n::4].sum()), isinstance(table, np.memmap)


table = np.ma.ones(size // 8).data
parts = Parallel(n_jobs=2)(delayed(part)(table, n) for n in range(4))
total = sum(value for value, _ in parts)
mapped = all(is_map for _, is_map in parts)
