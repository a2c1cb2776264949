# on: linux
class Cart:
    def __init__(self, memory):
        import mmap

        self.size = memory.size
        self.mapping = mmap.mmap(memory._fd, memory.size)
        memory.close()

    def lend(self):
        return memoryview(self.mapping).toreadonly()

    def close(self):
        from contextlib import suppress

        mapping, self.mapping = self.mapping, None
        with suppress(BufferError):  # the views keep it, and it goes with them
            mapping.close()


def shared_cart(name):
    from multiprocessing.shared_memory import SharedMemory

    return Cart(SharedMemory(name))
