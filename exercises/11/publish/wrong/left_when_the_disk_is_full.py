# expect: left-after-failure
def publish(new, path):
    import os
    import shutil

    beside = path.with_suffix(".new")
    with open(new, "rb") as source, open(beside, "wb") as target:
        shutil.copyfileobj(source, target)
        target.flush()
        os.fsync(target.fileno())
    os.replace(beside, path)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
