# expect: not-synced
def publish(new, path):
    import os
    import shutil

    beside = path.with_suffix(".new")
    try:
        os.replace(shutil.copyfile(new, beside), path)
    finally:
        beside.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
