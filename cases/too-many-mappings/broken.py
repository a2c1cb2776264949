import mmap

count, size = 32_765, 4096
private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
buffers, guards = [], []
for _ in range(count):
    buffers.append(mmap.mmap(-1, size, flags=private))
    # a page behind it that nobody may touch
    guards.append(mmap.mmap(-1, size, flags=private, prot=0))
for buffer in buffers[:100]:
    buffer[:5] = b"hello"

with open("/proc/self/maps") as file:
    mappings = len(file.readlines())
