def read(path):
    import mmap

    import numpy as np

    entry = np.dtype(
        [("name", "S16"), ("kind", "<u4"), ("rows", "<u4"), ("columns", "<u4"), ("offset", "<u8")]
    )
    with open(path, "rb") as file:
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    if view[:4] != b"ZCM1" or len(view) < 8:
        raise ValueError("no ZCM1")
    table = np.frombuffer(view, entry, int.from_bytes(view[4:8], "little"), 8)
    arrays = {}
    for name, kind, rows, columns, offset in table.tolist():
        dtype = {1: "<f4", 2: "<i8", 3: "u1"}.get(kind)
        if dtype is None or offset % 8 or not 8 + table.nbytes <= offset <= len(view):
            raise ValueError("damaged")
        arrays[name.decode()] = np.frombuffer(view[offset:], dtype, rows * columns).reshape(
            rows, columns
        )
    return arrays
