# expect: shared
def grow():
    import mmap

    block = mmap.mmap(-1, 64 * 2**20)
    for at in range(0, len(block), mmap.PAGESIZE):
        block[at] = 1
    return block
