# expect: too-much-memory, half
def publish(new, path):
    import os

    beside = path.with_suffix(".new")
    try:
        with open(beside, "wb") as target:
            target.write(new.read_bytes())
            target.flush()
            os.fsync(target.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
