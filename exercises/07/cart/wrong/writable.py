# expect: writable
class Cart:
    def __init__(self, name):
        from multiprocessing.shared_memory import SharedMemory

        self.memory = SharedMemory(name)
        self.size = self.memory.size

    def lend(self):
        return self.memory.buf

    def close(self):
        self.memory.close()


def shared_cart(name):
    return Cart(name)
