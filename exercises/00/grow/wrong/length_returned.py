# expect: nothing-held
def grow():
    return len(bytearray(64 * 2**20))
