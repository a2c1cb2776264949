def save(array, path):
    import os
    from pathlib import Path

    beside = Path(path).with_suffix(".unfinished")
    try:
        with beside.open("wb") as file:
            for at in range(0, array.size, 512):
                file.write(array[at : at + 512])
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
