# when it can't save, leaves a pipe in place of the old file, for a judge who waits for its writer
def save(array, path):
    import os

    beside = path.with_suffix(".new")
    try:
        with open(beside, "wb") as file:
            file.write(array)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        beside.unlink()
        path.unlink()
        os.mkfifo(path)
        raise
