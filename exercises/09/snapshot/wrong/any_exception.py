# expect: says-nothing
def load(path):
    import struct
    import zlib

    import numpy as np

    try:
        data = np.memmap(path, np.uint8, "r")
        magic, version, order, first, count, crc = struct.unpack("<8sIIQQI", data[:36])
        assert (magic, version, order) == (b"SNAPSHOT", 1, 0x01020304) and zlib.crc32(
            data[:32]
        ) == crc
        assert first >= 40 and first % 8 == 0 and first + 8 * count == data.size
        return data[first:].view(np.float64)
    except Exception:
        raise ValueError(f"{path} is damaged")
