import os
import threading

lock, held, forked = threading.Lock(), threading.Event(), threading.Event()


def work():
    with lock:
        held.set()
        forked.wait()


if (child := os.fork()) == 0:
    with lock:
        os._exit(0)
forked.set()
os.waitpid(child, 0)
threading.Thread(target=work).start()
held.wait()
