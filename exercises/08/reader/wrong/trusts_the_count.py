# expect: memory-limit, half
def read(path):
    import mmap
    import struct

    import numpy as np

    kinds = {1: "<f4", 2: "<i8", 3: "u1"}
    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if mapping[:4] != b"ZCM1":
        raise ValueError("not a ZCM1 file")
    if len(mapping) < 8:
        raise ValueError("no count")
    count = int.from_bytes(mapping[4:8], "little")
    arrays = [None] * count
    for i in range(count):
        if 8 + 36 * (i + 1) > len(mapping):
            raise ValueError("the table is cut short")
        name, kind, rows, columns, offset = struct.unpack_from("<16s3IQ", mapping, 8 + 36 * i)
        array = np.frombuffer(mapping, kinds[kind], rows * columns, offset)
        arrays[i] = (name.rstrip(b"\0").decode(), array.reshape(rows, columns))
    return dict(arrays)
