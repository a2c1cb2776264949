# expect: other-bytes
def load(path):
    import os

    return bytearray(os.path.getsize(path))
