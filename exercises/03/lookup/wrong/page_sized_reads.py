# expect: large-reads
# on: linux
def lookup(path, positions):
    import os

    file = os.open(path, os.O_RDONLY)
    try:
        return b"".join(os.pread(file, 4096, at)[:1] for at in positions)
    finally:
        os.close(file)
