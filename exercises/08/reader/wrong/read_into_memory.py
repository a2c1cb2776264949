# expect: copied, half
def read(path):
    import struct

    import numpy as np

    kinds = {1: np.dtype("<f4"), 2: np.dtype("<i8"), 3: np.dtype("u1")}
    with open(path, "rb") as file:
        data = file.read()
    count = int.from_bytes(data[4:8], "little")
    if data[:4] != b"ZCM1" or len(data) < 8 + 36 * count:
        raise ValueError("no such file, or no whole table")
    arrays = {}
    for name, kind, rows, columns, offset in struct.iter_unpack(
        "<16s3IQ", data[8 : 8 + 36 * count]
    ):
        if kind not in kinds or offset % 8 or offset < 8 + 36 * count:
            raise ValueError("no such kind, or a wrong offset")
        if offset + rows * columns * kinds[kind].itemsize > len(data):
            raise ValueError("it ends before the matrix does")
        array = np.frombuffer(data, kinds[kind], rows * columns, offset)
        arrays[name.rstrip(b"\0").decode()] = array.reshape(rows, columns)
    return arrays
