# a child whose first thread ends, while another holds the file
# expect: too-much-memory
import ctypes
import os
import platform
import threading
import time

EXIT = {"x86_64": 60, "aarch64": 93}[platform.machine()]  # of this thread alone


def copy_small(source, target):
    child = os.fork()
    if not child:
        threading.Thread(target=slurp, args=(source, target)).start()
        ctypes.CDLL(None).syscall(EXIT, 0)
    os.waitpid(child, 0)


def slurp(source, target):
    time.sleep(0.2)
    data = source.read_bytes()
    target.write_bytes(data)
    time.sleep(0.2)
    os._exit(len(data) % 1)
