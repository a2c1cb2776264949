# a pipe that nobody writes to lies where the file was
def lookup(path, positions):
    import os

    data = path.read_bytes()
    path.unlink()
    os.mkfifo(path)
    return bytes(data[at] for at in positions)
