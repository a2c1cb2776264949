# expect: lock-too-short
def add(path, times):
    import fcntl
    import mmap

    with open(path, "r+b") as f, mmap.mmap(f.fileno(), 0) as mapping:
        count = int.from_bytes(mapping[:8], "little")
        fcntl.lockf(f, fcntl.LOCK_EX)
        mapping[:8] = (count + times).to_bytes(8, "little")
