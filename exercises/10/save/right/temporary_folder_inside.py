def save(array, path):
    import os
    import tempfile

    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as folder:
        with open(f"{folder}/new", "wb") as file:
            array.tofile(file)
            file.flush()
            os.fsync(file)
        os.replace(f"{folder}/new", path)
