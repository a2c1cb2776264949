# expect: shared-lock
def add(path, times):
    import fcntl
    import mmap

    with open(path, "r+b") as f, mmap.mmap(f.fileno(), 0) as mapping:
        for _ in range(times):
            fcntl.flock(f, fcntl.LOCK_SH)
            count = int.from_bytes(mapping[:8], "little")
            mapping[:8] = (count + 1).to_bytes(8, "little")
            fcntl.flock(f, fcntl.LOCK_UN)
