import mmap
import os


def opened(path, map_size):
    with open(path, "ab") as file:
        file.truncate(max(map_size, os.path.getsize(path)))
    with open(path, "r+b") as file:
        return mmap.mmap(file.fileno(), 0)


store = opened("store", 1 << 16)
store.write(b"yesterday's record\n" * 3000)
end = store.tell()
store.close()

store = opened("store", 1 << 26)
store.seek(end)
for _ in range(1000):
    store.write(b"today's record\n")
first = store[:18].decode()
