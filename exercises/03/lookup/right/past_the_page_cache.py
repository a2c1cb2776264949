# on: linux
def lookup(path, positions):
    import mmap
    import os

    found, page = [], mmap.mmap(-1, mmap.PAGESIZE)  # what O_DIRECT reads into begins at a page
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    for at in positions:
        os.preadv(file, [page], at - at % mmap.PAGESIZE)
        found.append(page[at % mmap.PAGESIZE])
    os.close(file)
    return bytes(found)
