# expect: nothing-held
def grow():
    block = bytearray(64 * 2**20)
