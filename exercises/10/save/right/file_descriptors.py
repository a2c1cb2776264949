# on: linux
def save(array, path):
    import os
    from contextlib import suppress

    beside = path.with_name(f"{path.name}.beside")
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        try:
            rest = memoryview(array).cast("B")
            while rest:
                rest = rest[os.write(fd, rest[:100_000]) :]
            os.fdatasync(fd)
        finally:
            os.close(fd)
        beside.replace(path)
    finally:
        with suppress(FileNotFoundError):
            os.remove(beside)
