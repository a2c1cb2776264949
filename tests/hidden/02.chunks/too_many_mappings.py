# children with so many mappings that the file is read and written between two looks at them
# expect: unseen
import ctypes
import os
import time


def copy_small(source, target):
    c = ctypes.CDLL(None)
    page = 4096
    c.mmap.restype = ctypes.c_void_p
    many, pieces = 12, 60_000
    # MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, PROT_NONE, PROT_READ
    private, none, read = (0x4022, 0, 1)
    at = c.mmap(None, ctypes.c_size_t(pieces * page), none, private, -1, ctypes.c_long(0))
    # every other page is of another kind: a mapping of its own
    for first in range(at, at + pieces * page, 2 * page):
        c.mprotect(ctypes.c_void_p(first), ctypes.c_size_t(page), read)
    children = []
    for _ in range(many):
        children.append(os.fork())
        if not children[-1]:
            time.sleep(100)
    time.sleep(0.5)
    with open(source, "rb") as file, open(target, "wb") as copy:
        copy.write(file.read())
    for child in children:
        os.kill(child, 9)
        os.waitpid(child, 0)
