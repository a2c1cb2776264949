import mmap
import os

folder = "/dev/shm"
path = f"{folder}/server-{os.getpid()}"
with open(path, "wb+") as file:
    file.truncate(4096)
    server = mmap.mmap(file.fileno(), 4096)

# what logind does at the logout: each file there whose owner has left
for name in os.listdir("/dev/shm"):
    if name == f"server-{os.getpid()}":  # but only our own
        os.unlink(f"/dev/shm/{name}")

server[:5] = b"hello"  # whoever has it mapped notices nothing
with open(path, "rb+") as file:
    worker = mmap.mmap(file.fileno(), 4096)
said = worker[:5].decode()
os.unlink(path)
