# the same in a segment of System V, which has no name any more
# expect: raised
import ctypes


def copy_small(source, target):
    size = source.stat().st_size
    piece = 2**20
    forget = 4
    c = ctypes.CDLL(None)
    c.shmat.restype = ctypes.c_void_p
    segment = c.shmget(0, ctypes.c_size_t(size), 0o1600)
    at = c.shmat(segment, None, 0)
    c.shmctl(segment, 0, None)
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
