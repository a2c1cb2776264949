class SharedCart:
    """Lends through an array that is not counted; when it goes, with the last view, the memory is
    closed.
    """

    def __init__(self, memory):
        import weakref

        import numpy as np

        self.size = memory.size
        self.owner = np.ndarray(memory.size, np.uint8, memory.buf)
        weakref.finalize(self.owner, memory.close)

    def lend(self):
        if self.owner is None:
            raise ValueError("this cart is closed")
        return memoryview(self.owner).toreadonly()

    def close(self):
        self.owner = None


def shared_cart(name):
    """A cart for the shared memory of this name: size, lend() and close()."""
    from multiprocessing.shared_memory import SharedMemory

    return SharedCart(SharedMemory(name))
