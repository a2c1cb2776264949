# keeps the bytes in a memory file, in a process that lets nobody list its descriptors
# expect: unseen
import ctypes
import os


def copy_small(source, target):
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
    size = source.stat().st_size
    memory = os.memfd_create("nothing")
    with open(source, "rb") as file:
        while os.sendfile(memory, file.fileno(), None, size):
            pass
    os.lseek(memory, 0, os.SEEK_SET)
    with open(target, "wb") as copy:
        while os.sendfile(copy.fileno(), memory, None, size):
            pass
