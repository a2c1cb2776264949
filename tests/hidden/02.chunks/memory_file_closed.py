# the same in a memory file that is mapped, and has no descriptor any more
# expect: too-much-memory
import ctypes
import os


def copy_small(source, target):
    size = source.stat().st_size
    piece = 2**20
    forget = 4
    c = ctypes.CDLL(None)
    c.mmap.restype = ctypes.c_void_p
    file = os.memfd_create("nothing")
    os.truncate(file, size)
    # PROT_READ | PROT_WRITE, MAP_SHARED
    at = c.mmap(None, ctypes.c_size_t(size), 3, 1, file, ctypes.c_long(0))
    os.close(file)
    view = memoryview((ctypes.c_char * size).from_address(at)).cast("B")
    with open(source, "rb", buffering=0) as file:
        for first in range(0, size, piece):
            file.readinto(view[first : first + piece])
            c.madvise(
                ctypes.c_void_p(at + first), ctypes.c_size_t(min(piece, size - first)), forget
            )
    with open(target, "wb") as copy:
        for first in range(0, size, piece):
            copy.write(view[first : first + piece])
            c.madvise(
                ctypes.c_void_p(at + first), ctypes.c_size_t(min(piece, size - first)), forget
            )
