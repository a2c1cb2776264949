from os import fsync


def save(array, path):
    import os
    import tempfile

    with tempfile.NamedTemporaryFile(dir=os.path.dirname(path), delete=False) as file:
        try:
            array.tofile(file)
            fsync(file)
            file.close()
            os.rename(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise
