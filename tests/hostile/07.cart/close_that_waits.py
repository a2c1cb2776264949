# close() waits until the last view is gone, which never comes.
import time
from multiprocessing.shared_memory import SharedMemory


class Cart:
    def __init__(self, memory):
        self.memory, self.size = memory, memory.size

    def lend(self):
        return self.memory.buf.toreadonly()

    def close(self):
        while True:
            try:
                return self.memory.close()
            except BufferError:
                self.memory._buf = memoryview(self.memory._mmap)
                time.sleep(0.01)


def shared_cart(name):
    return Cart(SharedMemory(name))
