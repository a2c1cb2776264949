# expect: wrong-length
def load(path):
    data = bytearray(2**20)
    with open(path, "rb") as f:
        f.readinto(data)
    return data
