# expect: no-bytearray
def load(path):
    with open(path, "rb") as f:
        return f.read()
