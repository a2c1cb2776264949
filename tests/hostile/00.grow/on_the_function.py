# keeps the memory as an attribute of the function, and returns a word
def grow():
    grow.block = bytearray(64 * 2**20)
    return "held"
