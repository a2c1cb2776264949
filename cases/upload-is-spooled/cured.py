import os
import tempfile

size, length = 16 << 20, 1 << 16
os.mkdir("tmp")
tempfile.tempdir = "tmp"  # stands for /tmp, which nobody named


def body():  # as it comes from the network
    for _ in range(size // length):
        yield bytes(length)


with tempfile.TemporaryDirectory(dir=".") as folder:
    with open(f"{folder}/upload", "wb") as file:
        for piece in body():
            file.write(piece)
    os.replace(file.name, "upload")
uploaded = os.path.getsize("upload")
