class Cart:
    """Counts its loans; each is an array of its own, whose end is noted."""

    def __init__(self, memory):
        self.memory, self.size = memory, memory.size
        self.loans, self.closed = 0, False

    def lend(self):
        import weakref

        import numpy as np

        owner = np.ndarray(self.size, np.uint8, self.memory.buf)
        self.loans += 1
        weakref.finalize(owner, self.returned)
        return memoryview(owner).toreadonly()

    def returned(self):
        self.loans -= 1
        if self.closed and not self.loans:
            self.memory.close()

    def close(self):
        self.closed = True
        if not self.loans:
            self.memory.close()


def shared_cart(name):
    from multiprocessing.shared_memory import SharedMemory

    return Cart(SharedMemory(name))
