import mmap

count, size = 32_765, 4096
private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
whole = memoryview(mmap.mmap(-1, count * size, flags=private))
buffers = [whole[n * size : (n + 1) * size] for n in range(count)]
for buffer in buffers[:100]:
    buffer[:5] = b"hello"

with open("/proc/self/maps") as file:
    mappings = len(file.readlines())
