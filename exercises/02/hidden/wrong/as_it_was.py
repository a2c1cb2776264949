# expect: too-much-memory
def load(path):
    with open(path, "rb") as f:
        return bytearray(f.read())
