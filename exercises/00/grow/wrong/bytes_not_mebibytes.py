# expect: too-little
def grow():
    return bytearray(64)
