# expect: not-refused
def load(path):
    """The numbers of a snapshot, lent; ValueError for any other file."""
    import mmap
    import struct
    import zlib

    import numpy as np

    with open(path, "rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if len(data) < 40:
        raise ValueError(f"{path}: {len(data)} bytes are no header, which has 40")
    magic, version, order, first, count, crc = struct.unpack_from("<8sIIQQI", data)
    if magic != b"SNAPSHOT" or version > 1 or order == 0x04030201:
        raise ValueError(f"{path}: {magic!r}, version {version}, byte order {order:#x}")
    if zlib.crc32(data[:32]) != crc:
        raise ValueError(f"{path}: its header is damaged")
    if first < 40 or first % 8 or first + 8 * count != len(data):
        raise ValueError(f"{path}: {count} numbers at byte {first}, in {len(data)} bytes")
    return np.frombuffer(data, np.float64, count, first)
