def read(path):
    import mmap
    import struct

    import numpy as np

    from helpers.ideas.carts import counted

    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    end = len(mapping)
    if (
        end < 8
        or mapping[:4] != b"ZCM1"
        or 8 + 36 * (count := int.from_bytes(mapping[4:8], "little")) > end
    ):
        raise ValueError(f"no table in {end} bytes")
    arrays, data = {}, counted(mapping)
    for name, kind, *shape, at in struct.iter_unpack("<16s3IQ", data[8 : 8 + 36 * count]):
        if kind not in (1, 2, 3) or at % 8 or at < 8 + 36 * count:
            raise ValueError(f"{name} of kind {kind} at byte {at}")
        if at + shape[0] * shape[1] * (4, 8, 1)[kind - 1] > end:
            raise ValueError(f"{name} ends after the file, at byte {end}")
        arrays[name.rstrip(b"\0").decode()] = np.ndarray(
            shape, ("<f4", "<i8", "u1")[kind - 1], data, at
        )
    return arrays
