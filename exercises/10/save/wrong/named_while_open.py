# expect: part-of-a-file
def save(array, path):
    import os

    beside = f"{path}.new"
    with open(beside, "wb") as file:
        for at in range(0, array.size, 2**18):
            file.write(array[at : at + 2**18])
        os.fsync(file.fileno())
        os.replace(beside, path)
