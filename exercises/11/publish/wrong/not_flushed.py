# expect: not-synced
def publish(new, path):
    import os
    import shutil

    beside = path.with_suffix(".new")
    try:
        with open(new, "rb") as source, open(beside, "wb") as target:
            shutil.copyfileobj(source, target)
            os.fsync(target.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
