# expect: reads-the-numbers, half
def load(path):
    import mmap
    import struct
    import zlib

    import numpy as np

    with open(path, "rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if len(data) < 40:
        raise ValueError(f"{path}: {len(data)} bytes are no header, which has 40")
    magic, version, order, first, count, crc = struct.unpack_from("<8sIIQQI", data)
    if (magic, version, order) != (b"SNAPSHOT", 1, 0x01020304):
        raise ValueError(f"{path}: {magic!r}, version {version}, byte order {order:#x}")
    if zlib.crc32(data[:32]) != crc:
        raise ValueError(f"{path}: its header is damaged")
    if first < 40 or first % 8 or first + 8 * count != len(data):
        raise ValueError(f"{path}: {count} numbers at byte {first}, in {len(data)} bytes")
    numbers = np.frombuffer(data, np.float64, count, first)
    if not np.isfinite(numbers.sum()):
        raise ValueError(f"{path}: its numbers are damaged")
    return numbers
