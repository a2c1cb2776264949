import numpy as np

size = 16 << 20


def counted(array):
    return counted(array.base) if isinstance(array.base, np.ndarray) else array.nbytes


cache = [np.arange(size // 8).reshape(-1, 64) for _ in range(4)]
said = sum(map(counted, cache))
