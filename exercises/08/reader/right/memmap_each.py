class Damaged(ValueError):
    pass


def read(path):
    import os
    import struct

    import numpy as np

    end, arrays = os.path.getsize(path), {}
    with open(path, "rb") as file:
        head = file.read(8)
        if len(head) < 8 or head[:4] != b"ZCM1":
            raise Damaged(head)
        count = int.from_bytes(head[4:], "little")
        for _ in range(count):
            entry = file.read(36)
            if len(entry) < 36:
                raise Damaged("the table")
            name, kind, rows, columns, offset = struct.unpack("<16s3IQ", entry)
            if kind not in (1, 2, 3) or offset + rows * columns * (4, 8, 1)[kind - 1] > end:
                raise Damaged(name)
            if offset % 8 or offset < 8 + 36 * count:
                raise Damaged(name)
            name, dtype = name.strip(b"\0").decode(), (None, "<f4", "<i8", "|u1")[kind]
            arrays[name] = np.memmap(path, dtype, "r", offset, (rows, columns))
    return arrays
