# expect: no-room-asked-for
# on: linux
def save(array, path):
    import os

    import numpy as np

    beside = path.with_suffix(".new")
    try:
        mapped = np.memmap(beside, array.dtype, "w+", shape=array.shape)
        mapped[:] = array
        mapped.flush()
        with open(beside, "rb") as file:
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
