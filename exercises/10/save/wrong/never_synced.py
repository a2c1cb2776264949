# expect: not-synced
def save(array, path):
    import os

    beside = f"{path}.new"
    array.tofile(beside)
    os.replace(beside, path)
