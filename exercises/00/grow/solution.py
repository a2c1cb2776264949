def grow():
    return bytearray(64 * 2**20)
