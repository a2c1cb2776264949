import os
import signal
import tempfile

size = 8 << 20
os.mkdir("temporary")
for _ in range(3):
    if (worker := os.fork()) == 0:
        with tempfile.TemporaryFile(dir="temporary") as file:
            file.write(b"1" * size)
            os.kill(os.getpid(), signal.SIGKILL)  # as the kernel does, out of memory
    os.waitpid(worker, 0)
left_there = sum(file.stat().st_size for file in os.scandir("temporary"))
