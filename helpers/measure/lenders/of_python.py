"""The standard library: ctypes' pointers, whose buffer is the address itself, and blocks of shared memory."""

from collections.abc import Iterator
from typing import Any

from ...owners import address_of, link_of
from ..whereabouts import Whereabouts, of_buffer


def pointer(x: Any) -> Iterator[tuple]:
    yield "the pointer", of_buffer(x)
    target, link = address_of(x), link_of(x)
    if target is None:
        yield "its target", "none: it is a null pointer"
    elif link:
        yield "its target", link.to
    elif hasattr(type(x), "contents"):
        yield "its target", x.contents
    else:
        yield "its target", f"something at {target:#x}: a bare address tells no size"


def shared(x: Any) -> Whereabouts:
    if x.buf is None:
        raise ValueError("this SharedMemory is closed: it no longer shows any bytes")
    return of_buffer(x.buf)


LENDERS = {"_Pointer": pointer, "c_void_p": pointer, "c_char_p": pointer, "c_wchar_p": pointer, "SharedMemory": shared}
