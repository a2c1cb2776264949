"""Carts: owners that lend their bytes to yokes (yoke.py), and give them up when nobody looks at them any more."""

import contextlib
import mmap
import os
import weakref
from dataclasses import dataclass
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from ..units import in_words
from ..whole import regular_file
from .hitch import Hitch

Buffer = bytes | bytearray | mmap.mmap | SharedMemory


@runtime_checkable
class Cart(Protocol):
    """An owner of bytes that can be lent.

    size     bytes that it lends
    lend()   a read-only view of all of them, counted by the owner (an export of the buffer protocol); ValueError once
             the cart is closed
    close()  gives the bytes up: at once, or when the last view that escaped is gone. Calling it again does nothing.
    """

    @property
    def size(self) -> int: ...
    def lend(self) -> memoryview: ...
    def close(self) -> None: ...


def cart_of(x: Buffer | Cart) -> Cart:
    """The cart of bytes, a bytearray, a mapping or a SharedMemory; a cart as it is; TypeError for anything else."""
    if isinstance(x, Buffer):
        return BufferCart(x)
    if isinstance(x, (BufferCart, MappedFile, Cart)):  # those of the house first: a protocol takes long to ask
        return x
    owners = "the owner of the bytes (bytes, bytearray, mmap.mmap, SharedMemory), a MappedFile"
    raise TypeError(f"{type(x).__name__} is no cart: hand over {owners}, or an object with lend(), close() and size")


def counted(owner: bytes | bytearray | mmap.mmap | memoryview) -> memoryview:
    """A read-only view that is an export of `owner` for as long as anything made from it is there.

    An ndarray stands between: np.ndarray(shape, buffer=view) keeps only `view.obj`, and lets the view go
    (PyArray_BufferConverter in numpy's conversion_utils.c). Were that the mapping, it could be closed under the array;
    the ndarray holds an export itself. bytes need none: they neither move nor close, and their views can be dict keys.
    """
    view = memoryview(owner).toreadonly()
    return view if isinstance(owner, bytes) else memoryview(np.frombuffer(view, np.uint8))


class BufferCart:
    """Lends the bytes of an object that somebody else made. To close is to hand it back, not to close the object.

    Until every view is gone a bytearray cannot change its length, nor a mapping or SharedMemory be closed: BufferError.
    """

    def __init__(self, owner: Buffer) -> None:
        self._owner: Buffer | None = owner

    @property
    def size(self) -> int:
        return 0 if self._owner is None else memoryview(self._bytes()).nbytes

    def lend(self) -> memoryview:
        return counted(self._bytes())

    def close(self) -> None:
        self._owner = None

    def _bytes(self) -> bytes | bytearray | mmap.mmap | memoryview:
        owner = self._owner.buf if isinstance(self._owner, SharedMemory) else self._owner
        if owner is None:
            raise ValueError("this cart lends nothing any more: it, or its SharedMemory, is closed")
        return owner


@dataclass(frozen=True, repr=False)
class Holders:
    """Who keeps a MappedFile mapped.

    yokes  the names of the functions that made the views of its live yokes, in the order in which they were hitched
    views  how often it was lent to somebody who has no yoke (any more), and still has a view of it
    """

    yokes: tuple[str, ...]
    views: int

    def __repr__(self) -> str:
        named = f"{len(self.yokes)} yoke{'s' * (len(self.yokes) != 1)} ({', '.join(self.yokes)})" if self.yokes else ""
        return ", and ".join(filter(None, (named, "views that escaped" if self.views else ""))) or "nobody"


class EmptyFile(ValueError):
    """A file of no bytes, or one whose size is not told: it cannot be mapped."""


class MappedFile:
    """A whole file, mapped read-only: file and mapping are this cart's own.

    The file is closed as soon as it is mapped. The mapping keeps a duplicate of its descriptor (CPython's mmap does,
    for resize and size), and both go together: when close() was called, by hand or by the last yoke, and the last view
    that escaped is gone. Until then `closed` is False, and holders() tells who.
    OSError if it cannot be opened or is no file; EmptyFile, a ValueError, if its size is 0, as in /proc.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        with regular_file(self.path) as file:
            self.size = os.fstat(file.fileno()).st_size
            if not self.size:
                raise EmptyFile(f"the size of {self.path} is 0: nothing to map; read it, and use Yoke.owned(…)")
            mapping = mmap.mmap(file.fileno(), self.size, access=mmap.ACCESS_READ)
        self._mapping: mmap.mmap | None = mapping
        self._seen = weakref.ref(mapping)  # sees it after this cart has let go
        self._lenders: weakref.WeakValueDictionary[int, np.ndarray] = weakref.WeakValueDictionary()

    @property
    def closed(self) -> bool:
        """Is it unmapped?"""
        mapping = self._seen()
        return mapping is None or mapping.closed

    def lend(self) -> memoryview:
        mapping = self._mapping
        if mapping is None:
            ended = "was given up, by its last yoke or by close(): map it again"
            raise ValueError(f"{self.path} {ended}; a yoke's into_backing_cart() takes a cart back before that")
        view = counted(mapping)
        self._lenders[id(view.obj)] = view.obj
        return view

    def close(self) -> None:
        """Unmaps at once, or if a view is out, when the last one goes."""
        mapping, self._mapping = self._mapping, None
        if mapping is not None:
            with contextlib.suppress(BufferError):  # exported pointers exist: from now on the views alone hold it
                mapping.close()

    def holders(self) -> Holders:
        """Who looks at it. A view taken from a live yoke is that yoke's, not one that escaped."""
        yokes = Hitch.yokes_of(self)
        out = {id(lender) for lender in (ref() for ref in self._lenders.valuerefs()) if lender is not None}
        escaped = len(out - {id(lent.obj) for _, lent in yokes})
        if self._mapping is None and not self.closed and not yokes:
            escaped = max(escaped, 1)  # somebody has got hold of the mapping itself
        return Holders(tuple(name for name, _ in yokes), escaped)

    def __repr__(self) -> str:
        return f"MappedFile({str(self.path)!r}, {in_words(self.size, 'bytes')}{', closed' if self.closed else ''})"
