import multiprocessing
import os
import signal
from multiprocessing.shared_memory import SharedMemory


def work():
    SharedMemory(name, create=True, size=4096)
    os.kill(os.getpid(), signal.SIGKILL)  # as the kernel does, out of memory


name = f"answer-{os.getpid()}"
question = SharedMemory(create=True, size=4096)
worker = multiprocessing.get_context("fork").Process(target=work)
worker.start()
worker.join()
question.close()
question.unlink()

left_behind = os.path.exists(f"/dev/shm/{name}")
if left_behind:  # tidy up after the example
    SharedMemory(name).unlink()
