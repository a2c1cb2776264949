# expect: left-behind
# on: linux
class Cart:
    def __init__(self, name):
        from multiprocessing.shared_memory import SharedMemory

        self.memory = SharedMemory(name)
        self.size = self.memory.size

    def lend(self):
        return self.memory.buf.toreadonly()

    def close(self):
        self.memory = None


def shared_cart(name):
    return Cart(name)
