# expect: not-refused, half
def read(path):
    import mmap
    import struct

    import numpy as np

    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    end = len(mapping)
    if (
        end < 8
        or mapping[:4] != b"ZCM1"
        or 8 + 36 * (count := int.from_bytes(mapping[4:8], "little")) > end
    ):
        raise ValueError(f"no table in {end} bytes")
    arrays = {}
    for name, kind, rows, columns, offset in struct.iter_unpack(
        "<16s3IQ", mapping[8 : 8 + 36 * count]
    ):
        try:
            dtype = np.dtype(("<f4", "<i8", "u1")[kind - 1])
        except IndexError:
            raise ValueError(f"{name} is of kind {kind}") from None
        if offset % 8 or offset < 8 + 36 * count or offset + rows * columns * dtype.itemsize > end:
            raise ValueError(f"{name} begins at byte {offset} of {end}")
        array = np.frombuffer(mapping, dtype, rows * columns, offset)
        arrays[name.rstrip(b"\0").decode()] = array.reshape(rows, columns)
    return arrays
