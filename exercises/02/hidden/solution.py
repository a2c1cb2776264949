def load(path):
    """All bytes of the file as a bytearray, within 1.1 times its size."""
    import os

    data = bytearray(os.path.getsize(path))
    with open(path, "rb") as f:
        f.readinto(data)
    return data
