# on: linux
def save(array, path):
    import os

    beside = path.with_suffix(".new")
    try:
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_DSYNC, 0o666), "wb") as file:
            file.write(array)
        beside.rename(path)
    finally:
        beside.unlink(missing_ok=True)
