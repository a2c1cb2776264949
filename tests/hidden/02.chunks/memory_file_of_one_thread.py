# a thread with descriptors of its own keeps the bytes in a memory file
# expect: too-much-memory
import ctypes
import os
import shutil
import threading

CLONE_FILES = 0x400


def copy_small(source, target):
    thread = threading.Thread(target=slurp, args=(source, target))
    thread.start()
    thread.join()


def slurp(source, target):
    ctypes.CDLL(None).unshare(CLONE_FILES)
    memory = f"/proc/thread-self/fd/{os.memfd_create('nothing')}"
    shutil.copyfile(source, memory)
    shutil.copyfile(memory, target)
