# expect: closed
def read(path):
    import mmap
    import struct

    import numpy as np

    kinds = {1: "<f4", 2: "<i8", 3: "u1"}
    arrays = {}
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
        count = int.from_bytes(mapping[4:8], "little")
        for name, kind, rows, columns, offset in struct.iter_unpack(
            "<16s3IQ", mapping[8 : 8 + 36 * count]
        ):
            array = np.frombuffer(mapping, kinds[kind], rows * columns, offset)
            arrays[name.rstrip(b"\0").decode()] = array.reshape(rows, columns)
    return arrays
