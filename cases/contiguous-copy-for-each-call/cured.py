import zlib

import numpy as np

size = 64 << 20
table = np.ones((size // 32, 4), order="C")


def checksum(array):
    return zlib.adler32(np.ascontiguousarray(array))


checksums = [checksum(table) for _ in range(3)]
