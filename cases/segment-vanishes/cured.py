import multiprocessing
from multiprocessing.shared_memory import SharedMemory

block = SharedMemory(create=True, size=4096)
reader = multiprocessing.get_context("fork").Process(target=SharedMemory, args=(block.name,))
reader.start()
reader.join()
again = SharedMemory(block.name)
again.close()
block.close()
block.unlink()
