import ctypes
import mmap
import os
import resource

libc = ctypes.CDLL(None, use_errno=True)
header, capabilities = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
libc.capget(header, capabilities)
capabilities[0] &= ~(1 << 14)
libc.capset(header, capabilities)  # without CAP_IPC_LOCK, which root has and nobody else
limit = 64 << 10
resource.setrlimit(resource.RLIMIT_MEMLOCK, (limit, limit))  # ulimit -l 64

memory = mmap.mmap(-1, 1 << 20)
memory[:6] = b"secret"
whole = ctypes.c_char.from_buffer(memory)
if libc.mlock(ctypes.c_void_p(ctypes.addressof(whole)), ctypes.c_size_t(mmap.PAGESIZE)):
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
