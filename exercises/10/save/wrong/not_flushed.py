# expect: not-synced
def save(array, path):
    import os

    beside = path.with_suffix(".new")
    try:
        with open(beside, "wb") as file:
            file.write(array)
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
