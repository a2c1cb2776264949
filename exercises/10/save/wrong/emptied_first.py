# expect: cut-under-reader
def save(array, path):
    from pathlib import Path

    Path(path).write_bytes(b"")
    Path(path).write_bytes(array)
