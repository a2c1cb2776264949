# expect: not-counted
class Cart:
    def __init__(self, name):
        from multiprocessing.shared_memory import SharedMemory

        self.memory = SharedMemory(name)
        self.size = self.memory.size

    def lend(self):
        import numpy as np

        return memoryview(np.ndarray(self.size, np.uint8, self.memory.buf)).toreadonly()

    def close(self):
        self.memory.close()


def shared_cart(name):
    return Cart(name)
