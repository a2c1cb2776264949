"""The standard library: ctypes' pointers, whose buffer is the address itself, blocks of shared
memory, and BytesIO.
"""

from ...owners import address_of, link_of
from ..whereabouts import Whereabouts, of_buffer


def _Pointer(x) -> list[tuple]:
    target = "none: it is a null pointer"
    if link := link_of(x):
        target = link.to
    elif address := address_of(x):
        target = getattr(x, "contents", f"something at {address:#x}: a bare address tells no size")
    return [("the pointer", of_buffer(x)), ("its target", target)]


c_void_p = c_char_p = c_wchar_p = _Pointer


def BytesIO(x) -> Whereabouts:
    return of_buffer(x.getbuffer())


def SharedMemory(x) -> Whereabouts:
    if x.buf is None:
        raise ValueError("this SharedMemory is closed: it no longer shows any bytes")
    return of_buffer(x.buf)
