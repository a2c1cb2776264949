"""The standard library: ctypes' pointers, whose buffer is the address itself, blocks of shared
memory, BytesIO, and lists and tuples of arrays.
"""

import numpy as np

from ...owners import address_of, is_a, link_of
from ..whereabouts import describes, of_buffer


@describes("_ctypes._Pointer", "ctypes.c_void_p", "ctypes.c_char_p", "ctypes.c_wchar_p")
def pointer(x):
    target = "none: it is a null pointer"
    if link := link_of(x):
        target = link.to
    elif address := address_of(x):
        target = getattr(x, "contents", f"something at {address:#x}: a bare address tells no size")
    return [("the pointer", of_buffer(x)), ("its target", target)]


@describes("builtins.list", "builtins.tuple")
def arrays(x):
    return [(f"[{n}]", one) for n, one in enumerate(x) if is_a(one, np.ndarray)] or of_buffer(x)


@describes("_io.BytesIO")
def bytes_io(x):
    return of_buffer(x.getbuffer())


@describes("multiprocessing.SharedMemory")
def shared_memory(x):
    if x.buf is None:
        raise ValueError("this SharedMemory is closed: it no longer shows any bytes")
    return of_buffer(x.buf)
