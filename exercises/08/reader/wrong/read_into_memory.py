# expect: copied
def read(path):
    import struct

    import numpy as np

    kinds = {1: "<f4", 2: "<i8", 3: "u1"}
    with open(path, "rb") as file:
        data = file.read()
    count = int.from_bytes(data[4:8], "little")
    arrays = {}
    for name, kind, rows, columns, offset in struct.iter_unpack("<16s3IQ", data[8 : 8 + 36 * count]):
        array = np.frombuffer(data, kinds[kind], rows * columns, offset)
        arrays[name.rstrip(b"\0").decode()] = array.reshape(rows, columns)
    return arrays
