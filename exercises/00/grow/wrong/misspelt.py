# expect: raised
def grow():
    return bytearay(64 * 2**20)
