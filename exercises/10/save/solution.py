def save(array, path):
    """Replaces the file at `path` with one that holds the bytes of `array`."""
    import os
    from pathlib import Path

    beside = Path(f"{path}.unfinished")
    try:
        with open(beside, "wb") as file:
            file.write(array)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
