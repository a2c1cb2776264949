# expect: lock-of-its-own
def add(path, times):
    import mmap
    import multiprocessing

    lock = multiprocessing.Lock()
    with open(path, "r+b") as f, mmap.mmap(f.fileno(), 0) as mapping:
        for _ in range(times):
            with lock:
                count = int.from_bytes(mapping[:8], "little")
                mapping[:8] = (count + 1).to_bytes(8, "little")
