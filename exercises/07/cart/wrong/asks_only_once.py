# expect: left-behind
# on: linux
class Cart:
    def __init__(self, name):
        import weakref
        from multiprocessing.shared_memory import SharedMemory

        import numpy as np

        self.memory = SharedMemory(name)
        self.size = self.memory.size
        self.owner = np.ndarray(self.size, np.uint8, self.memory.buf)
        self.seen = weakref.ref(self.owner)

    def lend(self):
        return memoryview(self.owner).toreadonly()

    def close(self):
        self.owner = None
        if self.seen() is None:
            self.memory.close()


def shared_cart(name):
    return Cart(name)
