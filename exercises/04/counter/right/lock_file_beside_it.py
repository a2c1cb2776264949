def add(path, times):
    import mmap
    import os
    import time

    with open(path, "r+b") as f, mmap.mmap(f.fileno(), 0) as mapping:
        for _ in range(times):
            while True:
                try:
                    lock = os.open(path.with_suffix(".lock"), os.O_CREAT | os.O_EXCL)
                    break
                except FileExistsError:
                    time.sleep(0)
            count = int.from_bytes(mapping[:8], "little")
            mapping[:8] = (count + 1).to_bytes(8, "little")
            os.unlink(path.with_suffix(".lock"))
            os.close(lock)
