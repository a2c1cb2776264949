# a child holds the file while the bytearray is made from it
import os
import signal


def load(path):
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        data = path.read_bytes()
        os.write(writing, data[:1])
        signal.pause()
        os._exit(len(data) & 1)
    os.read(reading, 1)
    data = bytearray(os.path.getsize(path))
    with open(path, "rb") as file:
        file.readinto(data)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return data
