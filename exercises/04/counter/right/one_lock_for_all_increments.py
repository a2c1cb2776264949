def add(path, times):
    import fcntl

    import numpy as np

    with open(path, "r+b") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        counter = np.memmap(f, dtype="<u8", mode="r+", shape=1)
        counter += times
