def grow():
    block = b"\x01" * (64 * 2**20)
    return lambda: block
