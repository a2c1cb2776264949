# expect: written-in-place
def publish(new, path):
    import os

    with open(new, "rb") as source, open(path, "r+b") as target:
        while piece := source.read(2**20):
            target.write(piece)
        target.truncate()
        os.fsync(target.fileno())
