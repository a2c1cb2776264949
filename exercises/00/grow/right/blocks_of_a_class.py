class Held:
    def __init__(self, size, block=2**20):
        self.blocks = [bytearray(block) for _ in range(size // block)]


def grow():
    return Held(64 * 2**20)
