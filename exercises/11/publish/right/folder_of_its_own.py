def publish(new, path):
    import os
    import shutil

    apart = path.parent / ".publishing"
    apart.mkdir(exist_ok=True)
    try:
        with open(new, "rb") as source, open(apart / path.name, "wb") as target:
            shutil.copyfileobj(source, target)
            target.flush()
            os.fsync(target.fileno())
        os.replace(apart / path.name, path)
    finally:
        shutil.rmtree(apart)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
