# a thread with descriptors of its own keeps the bytes in a memory file
# expect: too-much-memory
import ctypes
import os
import threading

CLONE_FILES = 0x400


def copy_small(source, target):
    thread = threading.Thread(target=slurp, args=(source, target))
    thread.start()
    thread.join()


def slurp(source, target):
    ctypes.CDLL(None).unshare(CLONE_FILES)
    memory, size = os.memfd_create("nothing"), source.stat().st_size
    with open(source, "rb") as file:
        while os.sendfile(memory, file.fileno(), None, size):
            pass
    os.lseek(memory, 0, 0)
    with open(target, "wb") as copy:
        while os.sendfile(copy.fileno(), memory, None, size):
            pass
