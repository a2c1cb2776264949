def publish(new, path):
    import os
    import shutil
    import tempfile

    for left in path.parent.glob("*.part"):
        left.unlink()
    descriptor, beside = tempfile.mkstemp(suffix=".part", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as target, new.open("rb") as source:
            shutil.copyfileobj(source, target, 2**18)
            target.flush()
            os.fdatasync(descriptor)
        os.rename(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
    os.sync()
