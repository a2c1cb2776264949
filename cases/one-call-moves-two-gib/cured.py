import mmap
import os

size = (2 << 30) + 4096
with open("array", "w+b") as file:
    file.truncate(size)  # a hole: it takes no room
    data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
target = os.open(os.devnull, os.O_WRONLY)  # a file would be as short

written = os.write(target, data)
while written < size:
    written += os.write(target, memoryview(data)[written:])
