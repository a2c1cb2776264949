import multiprocessing
import os
import signal
from multiprocessing.shared_memory import SharedMemory


def work():
    SharedMemory(name)
    os.kill(os.getpid(), signal.SIGKILL)  # as the kernel does, out of memory


name = f"answer-{os.getpid()}"
question = SharedMemory(create=True, size=4096)
answer = SharedMemory(name, create=True, size=4096)
worker = multiprocessing.get_context("fork").Process(target=work)
worker.start()
worker.join()
for block in (question, answer):
    block.close()
    block.unlink()

left_behind = os.path.exists(f"/dev/shm/{name}")
