"""Ask the kernel itself whether something can be mapped: mmap(2), without the checks that Python's mmap makes first."""

import ctypes
import errno
import mmap
import os
import sys

FAILED = ctypes.c_void_p(-1).value


def map_a_page(descriptor: int) -> None:
    """Maps the first page of what is open as `descriptor`, for reading, and unmaps it again. mmap(2), munmap(2).

    Nothing is touched: the kernel maps even a page past a file's end, and touching that would be SIGBUS. OSError if the
    kernel refuses: ENODEV where there are no pages to map, EACCES without the right to read.
    """
    if sys.platform == "win32":
        raise OSError(errno.ENOSYS, "Windows has no mmap(2)")
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    size, where = ctypes.c_size_t(mmap.PAGESIZE), ctypes.c_long(0)
    address = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_PRIVATE, descriptor, where)
    if address == FAILED:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    libc.munmap(ctypes.c_void_p(address), size)
