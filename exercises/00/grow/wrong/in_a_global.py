# expect: nothing-held
def grow():
    global block
    block = bytearray(64 * 2**20)
    return len(block)
