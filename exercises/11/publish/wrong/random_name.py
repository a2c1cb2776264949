# expect: left-behind
def publish(new, path):
    import os
    import shutil
    import tempfile

    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as target:
        try:
            with new.open("rb") as source:
                shutil.copyfileobj(source, target)
            target.flush()
            os.fsync(target.fileno())
            os.replace(target.name, path)
        except BaseException:
            os.unlink(target.name)
            raise
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
