# puts a copy in the place of each file, and lends from the old one, into which nobody can write any
# more
def load(path):
    import os
    import shutil
    import struct
    import zlib

    import numpy as np

    data = np.memmap(path, np.uint8, "r")
    if data.size < 40:
        raise ValueError("too short")
    magic, version, order, first, count, crc = struct.unpack("<8sIIQQI", data[:36])
    if (magic, version, order) != (b"SNAPSHOT", 1, 0x01020304):
        raise ValueError("foreign")
    if zlib.crc32(data[:32]) != crc or first < 40 or first % 8 or first + 8 * count != data.size:
        raise ValueError("damaged")
    os.replace(shutil.copy(path, f"{path}.copy"), path)
    return data[first:].view(np.float64)
