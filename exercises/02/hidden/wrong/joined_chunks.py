# expect: too-much-memory
def load(path):
    chunks = []
    with open(path, "rb") as f:
        while chunk := f.read(2**20):
            chunks.append(chunk)
    return bytearray(b"".join(chunks))
