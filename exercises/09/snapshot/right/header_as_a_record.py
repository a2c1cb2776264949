class Damaged(ValueError):
    pass


def load(path):
    import zlib

    import numpy as np

    fields = [
        ("magic", "S8"),
        ("version", "<u4"),
        ("order", "<u4"),
        ("first", "<u8"),
        ("count", "<u8"),
        ("crc", "<u4"),
    ]
    data = np.memmap(path, np.uint8, "r")
    if data.size < 40:
        raise Damaged("too short")
    header = data[:36].view(fields)[0]
    first, count = int(header["first"]), int(header["count"])
    if (
        header["crc"] != zlib.crc32(data[:32])
        or first < 40
        or first % 8
        or first + 8 * count != data.size
    ):
        raise Damaged("damaged")
    if header["magic"] != b"SNAPSHOT" or header["version"] != 1 or header["order"] != 0x01020304:
        raise Damaged("foreign")
    return data[first:].view(np.float64)
