# expect: no-file
def publish(new, path):
    import os

    beside = path.with_suffix(".new")
    try:
        with open(new, "rb") as source, open(beside, "wb") as target:
            while piece := source.read(4096):
                target.write(piece)
            target.flush()
            os.fsync(target.fileno())
        path.unlink(missing_ok=True)
        beside.rename(path)
    finally:
        beside.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
