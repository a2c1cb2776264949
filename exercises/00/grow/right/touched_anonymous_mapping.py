# on: linux
def grow():
    import mmap

    block = mmap.mmap(-1, 64 * 2**20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for at in range(0, len(block), mmap.PAGESIZE):
        block[at] = 1
    return block
