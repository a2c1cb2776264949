# expect: other-folder
def save(array, path):
    import os
    import tempfile

    beside = f"{tempfile.gettempdir()}/weights.new"
    with open(beside, "wb") as file:
        file.write(array)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)
