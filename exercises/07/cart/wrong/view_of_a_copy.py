# expect: copy
class Cart:
    def __init__(self, name):
        from multiprocessing.shared_memory import SharedMemory

        self.memory = SharedMemory(name)
        self.size = self.memory.size

    def lend(self):
        return memoryview(bytes(self.memory.buf))

    def close(self):
        self.memory.close()


def shared_cart(name):
    return Cart(name)
