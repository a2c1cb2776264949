"""The C library, for system calls that Python doesn't offer. Each caller names the man page."""

import ctypes
import errno
import os
import sys
from functools import cache
from typing import Any


@cache
def libc() -> ctypes.CDLL:
    """The C library that this process uses. A function, because Windows has none under that name
    (TypeError).
    """
    return ctypes.CDLL(None, use_errno=True)


def call(function: str, *args: Any, about: str) -> None:
    """Calls a function that returns 0 if it worked; otherwise OSError, whose message begins with
    `about`. Pass sizes and addresses as ctypes types: a plain int goes as a C int.
    """
    if getattr(libc(), function)(*args):
        number = ctypes.get_errno()
        raise OSError(number, f"{about}: {os.strerror(number)}")


def map_pages(
    size: int, protection: int, flags: int, descriptor: int, address: int | None = None
) -> int:
    """mmap(2), without the checks that Python's makes first. Returns the address; OSError if the
    kernel refuses.
    """
    if sys.platform == "win32":
        raise OSError(errno.ENOSYS, "Windows has no mmap(2)")
    function = libc().mmap
    function.restype = ctypes.c_void_p
    where = function(
        ctypes.c_void_p(address),
        ctypes.c_size_t(size),
        protection,
        flags,
        descriptor,
        ctypes.c_long(0),
    )
    if where == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return where


def unmap_pages(address: int, size: int) -> None:
    """munmap(2)."""
    call("munmap", ctypes.c_void_p(address), ctypes.c_size_t(size), about="munmap")
