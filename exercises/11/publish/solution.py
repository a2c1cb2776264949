import os
import shutil


def publish(new, path):
    """Puts the bytes of the file `new` in the place of the file `path`."""
    beside = path.with_name(f".{path.name}.unfinished")
    try:
        with open(new, "rb") as source, open(beside, "wb") as target:
            shutil.copyfileobj(source, target)
            target.flush()
            os.fsync(target.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
