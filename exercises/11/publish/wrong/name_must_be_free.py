# expect: not-again
def publish(new, path):
    import os
    import shutil

    beside = path.with_suffix(".new")
    with open(beside, "xb") as target:
        try:
            with open(new, "rb") as source:
                shutil.copyfileobj(source, target)
            target.flush()
            os.fsync(target.fileno())
            os.replace(beside, path)
        except BaseException:
            beside.unlink()
            raise
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
