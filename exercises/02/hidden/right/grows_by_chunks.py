def load(path):
    data = bytearray()
    with open(path, "rb") as f:
        while chunk := f.read(2**20):
            data += chunk
    return data
