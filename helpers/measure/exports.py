"""`exports(owner)`: how many buffers of a bytearray, mmap or array are lent at this moment, by its own count."""

import array
import ctypes
import mmap
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

WORD = ctypes.sizeof(ctypes.c_ssize_t)
# What counts its exports, because a lent buffer must not move or go: each with a way to make one to throw away.
COUNTING: dict[type, Callable[[], Any]] = {
    bytearray: lambda: bytearray(8),
    mmap.mmap: lambda: mmap.mmap(-1, mmap.PAGESIZE),
    array.array: lambda: array.array("B", bytes(8)),
}


def exports(owner: Any) -> int | None:
    """The buffers of `owner` that are lent: while there is one, a bytearray cannot grow and an mmap cannot close.

    A memoryview and its slices are one export together (they share one buffer), and so is each np.frombuffer.
    np.ndarray(buffer=owner), and with it np.memmap, refers to its owner without an export: it is not counted.

    The count is a field that Python does not show: `ob_exports` of PyByteArrayObject (CPython,
    Include/cpython/bytearrayobject.h), `exports` of mmap_object (Modules/mmapmodule.c). None where it cannot be
    known: for other objects (bytes never moves, so it keeps no count), and on other implementations of Python.
    """
    for kind in COUNTING:
        if isinstance(owner, kind):
            offset = _offset(kind)
            return None if offset is None else ctypes.c_ssize_t.from_address(id(owner) + offset).value
    return None


@cache
def _offset(kind: type) -> int | None:
    """Bytes from the start of a `kind` to its count: the one word that reads 0, 1, 2, 0 as views come and go.

    None where no word does, or more than one: then a guess could read anything.
    """
    if sys.implementation.name != "cpython":  # elsewhere id() is no address
        return None
    # Behind the head that all objects have: a view is a reference too, and would be taken for an export.
    offsets = range(object.__basicsize__, kind.__basicsize__ - WORD + 1, WORD)
    one, views, seen = COUNTING[kind](), [], []
    for _ in range(3):
        seen.append(_words(one, offsets))
        views.append(memoryview(one))
    for view in views:
        view.release()
    seen.append(_words(one, offsets))
    counts = [offset for offset, word in zip(offsets, zip(*seen, strict=True), strict=True) if word == (0, 1, 2, 0)]
    return counts[0] if len(counts) == 1 else None


def _words(one: Any, offsets: range) -> list[int]:
    return [ctypes.c_ssize_t.from_address(id(one) + offset).value for offset in offsets]
