"""Carts: owners that lend their bytes to yokes (yoke.py), and give them up once nobody looks at them."""

import contextlib
import mmap
import os
import weakref
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from ..units import in_words
from ..whole import regular_file

Buffer = bytes | bytearray | mmap.mmap


@runtime_checkable
class Cart(Protocol):
    """An owner that lends its bytes.

    size     how many bytes it lends
    lend()   a read-only view of all of them, counted by the owner (an export of the buffer protocol); ValueError once
             the cart is closed
    close()  gives the bytes up: at once, or when the last escaped view is gone; calling it again does nothing
    """

    @property
    def size(self) -> int: ...
    def lend(self) -> memoryview: ...
    def close(self) -> None: ...


def cart_of(x: Buffer | Cart) -> Cart:
    """A cart for bytes, a bytearray or a mapping; a cart comes back as is. TypeError for the rest."""
    if isinstance(x, Buffer):
        return BufferCart(x)
    if isinstance(x, (BufferCart, MappedFile, Cart)):  # our own first: isinstance is slow for a protocol
        return x
    owners = "the owner of the bytes (bytes, bytearray, mmap.mmap), a MappedFile"
    raise TypeError(f"{type(x).__name__} isn't a cart: pass {owners}, or an object with lend(), close() and size")


def counted(owner: Buffer) -> memoryview:
    """A read-only view. `owner` counts it as an export for as long as anything made from the view is alive.

    There's an ndarray in between, because np.ndarray(shape, buffer=view) keeps only `view.obj` and drops the view
    (PyArray_BufferConverter in numpy's conversion_utils.c). If `view.obj` were the mapping, it could be closed under
    the array; an ndarray holds its own export. bytes never move or close, so they need none, and their views hash.
    """
    view = memoryview(owner).toreadonly()
    return view if isinstance(owner, bytes) else memoryview(np.frombuffer(view, np.uint8))


class BufferCart:
    """Lends the bytes of an object that somebody else made. close() hands the object back without closing it.

    Until the last view is gone, resizing a bytearray or closing a mapping raises BufferError.
    """

    def __init__(self, owner: Buffer) -> None:
        self._owner: Buffer | None = owner

    @property
    def size(self) -> int:
        return 0 if self._owner is None else memoryview(self._owner).nbytes

    def lend(self) -> memoryview:
        if self._owner is None:
            raise ValueError("this cart has nothing to lend: it is closed; make a new cart")
        return counted(self._owner)

    def close(self) -> None:
        self._owner = None


class EmptyFile(ValueError):
    """The file has 0 bytes, or doesn't tell its size: there is nothing to map."""


class MappedFile:
    """A whole file, mapped read-only. The cart owns both file and mapping.

    The file is closed as soon as it's mapped. The mapping keeps a duplicate of the descriptor (CPython's mmap needs it
    for resize and size). Both go once close() was called, by you or by the last yoke, and the last escaped view is
    gone. Until then `closed` is False.
    OSError if the file won't open or isn't a regular file; EmptyFile, a ValueError, if its size is 0, as in /proc.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        with regular_file(self.path) as file:
            self.size = os.fstat(file.fileno()).st_size
            if not self.size:
                raise EmptyFile(f"the size of {self.path} is 0: nothing to map; read it and use Yoke.owned(…)")
            mapping = mmap.mmap(file.fileno(), self.size, access=mmap.ACCESS_READ)
        self._mapping: mmap.mmap | None = mapping
        self._reference = weakref.ref(mapping)  # still finds it after this cart has let go

    @property
    def closed(self) -> bool:
        """Is it unmapped?"""
        mapping = self._reference()
        return mapping is None or mapping.closed

    def lend(self) -> memoryview:
        mapping = self._mapping
        if mapping is None:
            raise ValueError(f"{self.path} was given up, by its last yoke or by close(): map it again")
        return counted(mapping)

    def close(self) -> None:
        """Unmaps the file: at once, or when the last view goes."""
        mapping, self._mapping = self._mapping, None
        if mapping is not None:
            with contextlib.suppress(BufferError):  # exported pointers exist: from now on only the views hold it
                mapping.close()

    def __repr__(self) -> str:
        return f"MappedFile({str(self.path)!r}, {in_words(self.size, 'bytes')}{', closed' if self.closed else ''})"
