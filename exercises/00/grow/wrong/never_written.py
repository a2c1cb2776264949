# expect: too-little
def grow():
    return bytes(64 * 2**20)
