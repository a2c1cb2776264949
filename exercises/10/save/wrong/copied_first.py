# expect: too-much-memory, half
def save(array, path):
    import os
    from pathlib import Path

    beside = Path(f"{path}.unfinished")
    try:
        with open(beside, "wb") as file:
            file.write(array.tobytes())
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
