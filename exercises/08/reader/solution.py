def read(path):
    """name -> array, each a read-only view of the mapped file. ValueError for a damaged file."""
    import mmap
    import struct

    import numpy as np

    kinds = {1: np.dtype("<f4"), 2: np.dtype("<i8"), 3: np.dtype("u1")}
    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    end = len(mapping)
    if mapping[:4] != b"ZCM1":
        raise ValueError(f"the file begins with {mapping[:4]}, not with b'ZCM1'")
    count = int.from_bytes(mapping[4:8], "little")
    if end < 8 or 8 + 36 * count > end:
        raise ValueError(f"a table of {count:,} arrays does not fit into {end:,} bytes")
    arrays = {}
    for name, kind, rows, columns, offset in struct.iter_unpack(
        "<16s3IQ", mapping[8 : 8 + 36 * count]
    ):
        name = name.rstrip(b"\0").decode()
        if kind not in kinds:
            raise ValueError(f"{name!r} is of kind {kind}; there are {list(kinds)}")
        if offset % 8 or offset < 8 + 36 * count:
            raise ValueError(
                f"{name!r} begins at byte {offset}, in the table, or not at a multiple of 8"
            )
        if offset + rows * columns * kinds[kind].itemsize > end:
            raise ValueError(f"{name!r} ends beyond the file's {end:,} bytes")
        array = np.frombuffer(mapping, kinds[kind], rows * columns, offset)
        arrays[name] = array.reshape(rows, columns)
    return arrays
