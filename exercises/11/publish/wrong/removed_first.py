# expect: no-file
def publish(new, path):
    import os
    import shutil

    beside = path.with_suffix(".new")
    try:
        with open(new, "rb") as source, open(beside, "wb") as target:
            shutil.copyfileobj(source, target)
            target.flush()
            os.fsync(target.fileno())
        path.unlink(missing_ok=True)
        beside.rename(path)
    finally:
        beside.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
