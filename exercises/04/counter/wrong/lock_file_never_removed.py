# expect: still-running
def add(path, times):
    import mmap
    import os

    with open(path, "r+b") as f, mmap.mmap(f.fileno(), 0) as mapping:
        for _ in range(times):
            while True:
                try:
                    os.close(os.open(path.with_suffix(".lock"), os.O_CREAT | os.O_EXCL))
                    break
                except FileExistsError:
                    pass
            count = int.from_bytes(mapping[:8], "little")
            mapping[:8] = (count + 1).to_bytes(8, "little")
