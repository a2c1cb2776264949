import mmap
import os

size, step = 64 << 20, 256 << 10
with open("index", "wb") as file:
    file.write(b"x" * size)
    os.fsync(file.fileno())
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def from_device():
    with open("/proc/self/io") as file:
        return int(file.read().split("\nread_bytes: ")[1].split()[0])


with open("index", "rb") as file:
    index = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
before = from_device()
found = sum(index[n] for n in range(step // 2, size, step))
read = from_device() - before
asked = size // step * mmap.PAGESIZE
