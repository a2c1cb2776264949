# expect: shared
def grow():
    import mmap

    block = mmap.mmap(-1, 64 * 2**20)
    block.write(b"1" * (64 * 2**20))
    return block
