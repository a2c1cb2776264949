# expect: no-lock
def add(path, times):
    import mmap

    with (
        open(path, "r+b") as f,
        mmap.mmap(f.fileno(), 0) as mapping,
        memoryview(mapping).cast("q") as numbers,
    ):
        for _ in range(times):
            numbers[0] += 1
