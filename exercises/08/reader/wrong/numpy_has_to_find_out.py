# expect: other-error
def read(path):
    import mmap
    import struct

    import numpy as np

    kinds = {1: "<f4", 2: "<i8", 3: "u1"}
    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if mapping[:4] != b"ZCM1":
        raise ValueError("not a ZCM1 file")
    count = int.from_bytes(mapping[4:8], "little")
    if len(mapping) < 8 + 36 * count:
        raise ValueError("the table is cut short")
    arrays = {}
    for name, kind, rows, columns, offset in struct.iter_unpack("<16s3IQ", mapping[8 : 8 + 36 * count]):
        if kind not in kinds:
            raise ValueError(f"kind {kind}")
        array = np.frombuffer(mapping, kinds[kind], rows * columns, offset)
        arrays[name.rstrip(b"\0").decode()] = array.reshape(rows, columns)
    return arrays
