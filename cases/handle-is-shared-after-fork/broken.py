import os

size = 4096
with open("records", "wb") as file:
    for letter in b"abcdefgh":
        file.write(bytes([letter]) * size)

records = os.open("records", os.O_RDONLY)
turn, go = os.pipe()
if (worker := os.fork()) == 0:
    os.read(turn, 1)  # it works while the other one is between seek and read
    os.lseek(records, 5 * size, os.SEEK_SET)
    os._exit(0)
os.lseek(records, 2 * size, os.SEEK_SET)
os.write(go, b".")
os.waitpid(worker, 0)
got = os.read(records, size)[:1].decode()
