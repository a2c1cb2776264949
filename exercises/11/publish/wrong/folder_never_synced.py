# expect: name-not-synced
def publish(new, path):
    import os
    import shutil

    beside = path.with_suffix(".new")
    try:
        with open(new, "rb") as source, open(beside, "wb") as target:
            shutil.copyfileobj(source, target)
            target.flush()
            os.fsync(target.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
