# expect: not-synced
def save(array, path):
    import os

    beside = path.with_suffix(".new")
    try:
        with open(beside, "wb") as file:
            file.write(array)
            file.flush()
            os.replace(beside, path)
            os.fsync(file.fileno())
    finally:
        beside.unlink(missing_ok=True)
