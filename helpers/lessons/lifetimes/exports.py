"""`exports(owner)`: how many buffers of a bytearray, mmap or array are lent right now, by its own count."""

import array
import ctypes
import mmap
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

WORD_SIZE = ctypes.sizeof(ctypes.c_ssize_t)
# Types that count their exports, because a lent buffer must not move or go; each with a maker of a throwaway object.
COUNTING: dict[type, Callable[[], Any]] = {
    bytearray: lambda: bytearray(8),
    mmap.mmap: lambda: mmap.mmap(-1, mmap.PAGESIZE),
    array.array: lambda: array.array("B", bytes(8)),
}


def exports(owner: Any) -> int | None:
    """How many buffers of `owner` are lent. While any is, a bytearray can't grow and an mmap can't close.

    A memoryview and its slices share a buffer and count as one export; each np.frombuffer is an export of its own.
    np.ndarray(buffer=owner), and so np.memmap, refers to its owner without an export: it isn't counted.

    The count is a field that Python doesn't show: `ob_exports` of PyByteArrayObject (CPython,
    Include/cpython/bytearrayobject.h), `exports` of mmap_object (Modules/mmapmodule.c). None if it can't be known:
    for other objects (bytes never moves, so it keeps no count), and on other implementations of Python.
    """
    for kind in COUNTING:
        if isinstance(owner, kind):
            offset = _offset(kind)
            return None if offset is None else ctypes.c_ssize_t.from_address(id(owner) + offset).value
    return None


@cache
def _offset(kind: type) -> int | None:
    """Bytes from the start of a `kind` to its count: the only word that reads 0, 1, 2, 0 as views come and go. None if
    no word does, or several do: then a guess could read anything."""
    if sys.implementation.name != "cpython":  # elsewhere id() is no address
        return None
    # Skip the head that all objects have: a view is a reference too, and its count there would pass for exports.
    offsets = range(object.__basicsize__, kind.__basicsize__ - WORD_SIZE + 1, WORD_SIZE)
    owner, readings = COUNTING[kind](), []
    for lent in (0, 1, 2, 0):
        views = [memoryview(owner) for _ in range(lent)]  # noqa: F841  the earlier ones go
        readings.append([ctypes.c_ssize_t.from_address(id(owner) + offset).value for offset in offsets])
    counts = [offset for offset, word in zip(offsets, zip(*readings, strict=True), strict=True) if word == (0, 1, 2, 0)]
    return counts[0] if len(counts) == 1 else None
