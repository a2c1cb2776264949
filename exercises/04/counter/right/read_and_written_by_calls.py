def add(path, times):
    import fcntl
    import os

    file = os.open(path, os.O_RDWR)
    try:
        fcntl.lockf(file, fcntl.LOCK_EX, 8)
        count = int.from_bytes(os.pread(file, 8, 0), "little")
        os.pwrite(file, (count + times).to_bytes(8, "little"), 0)
    finally:
        os.close(file)
