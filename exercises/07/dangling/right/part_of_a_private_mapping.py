def layer(path, offset, count):
    import mmap

    import numpy as np

    begin = offset // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
    with open(path, "rb") as file:
        mapping = mmap.mmap(
            file.fileno(), offset - begin + 4 * count, access=mmap.ACCESS_COPY, offset=begin
        )
    return np.asarray(memoryview(mapping)[offset - begin :].cast("f"))
