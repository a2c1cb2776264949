# expect: too-much
def grow():
    return [0] * (64 * 2**20)
