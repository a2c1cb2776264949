# It is a good cart; when the process ends, and once more from a child that goes on, the block is unlinked.
import atexit
import os
import time
from multiprocessing.shared_memory import SharedMemory

import numpy as np


class Cart:
    def __init__(self, memory):
        import weakref

        self.size, self.owner = memory.size, np.ndarray(memory.size, np.uint8, memory.buf)
        weakref.finalize(self.owner, memory.close)

    def lend(self):
        return memoryview(self.owner).toreadonly()

    def close(self):
        self.owner = None


def shared_cart(name):
    memory = SharedMemory(name)
    atexit.register(os.unlink, f"/dev/shm/{name}")
    if os.fork() == 0:
        os.setsid()
        time.sleep(0.2)
        os.unlink(f"/dev/shm/{name}")
        os._exit(0)
    return Cart(memory)
