import os
import threading
import time

lock = threading.Lock()


def work():
    with lock:
        time.sleep(0.3)


threading.Thread(target=work).start()
time.sleep(0.1)
if (child := os.fork()) == 0:
    with lock:
        os._exit(0)
os.waitpid(child, 0)
