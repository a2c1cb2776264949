# a function of its own is called fsync, and the real one is given another file
def save(array, path):
    import os

    real = os.fsync

    def fsync(file):
        with open("other", "wb") as other:
            real(other.fileno())

    os.fsync, beside = fsync, path.with_suffix(".new")
    try:
        with open(beside, "wb") as file:
            file.write(array)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
