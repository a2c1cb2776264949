# a process that nobody waits for reads all of it and drops it from the page cache
def lookup(path, positions):
    import os

    answers, says = os.pipe()
    if not os.fork():
        if not os.fork():
            file = os.open(path, os.O_RDONLY)
            data = b"".join(iter(lambda: os.read(file, 2**20), b""))
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.write(says, bytes(data[at] for at in positions))
        os._exit(0)
    os.wait()
    return os.read(answers, len(positions))
