# expect: swallowed
def save(array, path):
    import os

    beside = f"{path}.new"
    try:
        with open(beside, "wb") as file:
            file.write(array)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as error:
        print(error)
        os.remove(beside)
