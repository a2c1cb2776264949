import numpy as np

size = 16 << 20


def counted(array):
    return array.nbytes if array.flags.owndata else 0


cache = [np.arange(size // 8).reshape(-1, 64) for _ in range(4)]
said = sum(map(counted, cache))
