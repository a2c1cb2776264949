# expect: part-of-a-file
def publish(new, path):
    import os
    import shutil

    beside = path.with_suffix(".new")
    try:
        with open(new, "rb") as source, open(beside, "wb") as target:
            shutil.copyfileobj(source, target, 2**16 + 1)
            os.replace(beside, path)
            target.flush()
            os.fsync(target.fileno())
    finally:
        beside.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
