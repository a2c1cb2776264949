import ctypes
import tracemalloc

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]


def transform(size):
    scratch = libc.malloc(size)
    ctypes.memset(scratch, 1, size)
    libc.free(scratch)


tracemalloc.start()
calls, size = 60, 1 << 20
for _ in range(calls):
    transform(size)
traced = tracemalloc.get_traced_memory()[0]
