# takes the numbers of all processes from the pipe, and writes their sum
# expect: wrong-count
def add(path, times):
    import os

    for name in os.listdir("/proc/self/fd"):
        try:
            os.lseek(int(name), 0, os.SEEK_SET)
        except OSError:
            pass
    with open(path, "r+b") as file:
        file.write((10**6).to_bytes(8, "little"))
