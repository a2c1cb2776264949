import os
import shutil
import tempfile

size, length = 16 << 20, 1 << 16
os.mkdir("tmp")
tempfile.tempdir = "tmp"  # stands for /tmp, which nobody named


def body():  # as it comes from the network
    for _ in range(size // length):
        yield bytes(length)


with tempfile.SpooledTemporaryFile(max_size=1 << 20) as spool:
    for piece in body():
        spool.write(piece)
    spool.seek(0)
    with open("upload", "wb") as file:
        shutil.copyfileobj(spool, file)
uploaded = os.path.getsize("upload")
