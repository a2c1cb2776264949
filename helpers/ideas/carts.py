"""Carts, the owners that lend their bytes to yokes (yoke.py), and what makes yokes safe.

A cart gives its bytes up once nobody looks at them. All yokes of a cart share one loan, and the
view of each must borrow from the cart.
"""

import contextlib
import mmap
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from ..owners import link_of, way_to_owner
from ..safe_files import regular_file
from ..units import in_words

Buffer = bytes | bytearray | mmap.mmap
ADVICE = (
    "Return a view, such as view[a:b] or np.frombuffer(view, dtype), or keep the copy in "
    "Yoke.owned(value)"
)


class Closing:
    """What ends with close() can be used in a `with`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


@runtime_checkable
class Cart(Protocol):
    """An owner that lends its bytes.

    size     how many bytes it lends
    lend()   a read-only view of all of them, counted by the owner (an export of the buffer
             protocol); ValueError once the cart is closed
    close()  gives the bytes up: at once, or when the last escaped view is gone; calling it again
             does nothing
    """

    @property
    def size(self) -> int: ...
    def lend(self) -> memoryview: ...
    def close(self) -> None: ...


def cart_of(x: Buffer | Cart) -> Cart:
    """A cart for bytes, a bytearray or a mapping; a cart comes back as is. TypeError for the
    rest.
    """
    if isinstance(x, Buffer):
        return BufferCart(x)
    # our own first: isinstance is slow for a protocol
    if isinstance(x, (BufferCart, MappedFile, Cart)):
        return x
    owners = "the owner of the bytes (bytes, bytearray, mmap.mmap), a MappedFile"
    raise TypeError(
        f"{type(x).__name__} isn't a cart: pass {owners}, or an object with lend(), close() and "
        "size"
    )


def counted(owner: Buffer) -> memoryview:
    """A read-only view. `owner` counts it as an export for as long as anything made from the view
    is alive.

    There's an ndarray in between, because np.ndarray(shape, buffer=view) keeps only `view.obj` and
    drops the view (PyArray_BufferConverter in numpy's conversion_utils.c). If `view.obj` were the
    mapping, it could be closed under the array; an ndarray holds its own export. bytes never move
    or close, so they need none, and their views hash.
    """
    view = memoryview(owner).toreadonly()
    return view if isinstance(owner, bytes) else memoryview(np.frombuffer(view, np.uint8))


class BufferCart:
    """Lends the bytes of an object that somebody else made. close() hands the object back without
    closing it.
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
    """A whole file, mapped read-only.

    The mapping keeps a duplicate of the file's descriptor (CPython's mmap needs it for resize and
    size). Both go once close() was called, by you or by the last yoke, and the last escaped view is
    gone. Until then `closed` is False. OSError if the file won't open or isn't a regular file;
    EmptyFile, a ValueError, if its size is 0, as in /proc.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        with regular_file(self.path) as file:
            self.size = os.fstat(file.fileno()).st_size
            if not self.size:
                raise EmptyFile(
                    f"the size of {self.path} is 0: nothing to map; read it and use Yoke.owned(…)"
                )
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
            raise ValueError(
                f"{self.path} was given up, by its last yoke or by close(): map it again"
            )
        return counted(mapping)

    def close(self) -> None:
        """Unmaps the file: at once, or when the last view goes."""
        mapping = self._mapping
        self._mapping = None
        if mapping is not None:
            # exported pointers exist: from now on only the views hold it
            with contextlib.suppress(BufferError):
                mapping.close()

    def __repr__(self) -> str:
        return (
            f"MappedFile({str(self.path)!r},"
            f" {in_words(self.size, 'bytes')}{', closed' if self.closed else ''})"
        )


class Loan:
    """The bytes of a cart, lent to all yokes of that cart. The last yoke to leave closes the cart.
    `lent` is a view of all its bytes, which their owner counts; None once the loan has ended.
    """

    _of_cart: ClassVar[dict[int, "Loan"]] = {}
    _lock = threading.RLock()  # reentrant: a finaliser may run here in the same thread

    def __init__(self, cart: Cart, lent: memoryview) -> None:
        self.cart, self.lent, self.yokes = cart, lent, 0

    @classmethod
    def of(cls, owner: Buffer | Cart, function: Callable[[memoryview], Any]) -> tuple["Loan", Any]:
        """Lends the bytes of `owner` for one yoke more, and returns the view that `function` makes
        of them, too. ValueError if the view doesn't borrow. Whatever fails, the cart is the
        caller's again.
        """
        cart = cart_of(owner)
        lent = cart.lend()
        # a view of its own: the function may release it, and the loan stays
        view = function(lent[:])
        if reason := copy_reason(view, lent, function):
            del view, lent  # or the traceback would keep them alive, and the bytes too
            raise ValueError(reason)
        with cls._lock:
            return cls._of_cart.setdefault(id(cart), cls(cart, lent)).join(), view

    def join(self) -> Self:
        with self._lock:
            if self.lent is None:
                raise ValueError(
                    "the last yoke of this cart was released meanwhile: attach the cart again"
                )
            self.yokes += 1
            return self

    def leave(self) -> None:
        with self._lock:
            self.yokes -= 1
            if self.yokes:
                return
            del self._of_cart[id(self.cart)]
            self.lent = None  # first, because this view would keep the cart from closing
        # some carts raise if a view escaped, instead of waiting for it
        with contextlib.suppress(BufferError):
            self.cart.close()


def copy_reason(value: Any, lent: memoryview, function: Callable) -> str | None:
    """Why `value`, which the function made from `lent`, doesn't borrow from it; None if it does. A
    value borrows if it shares memory with `lent` or leads to its owner by `.base` and `.obj`. A
    tuple, list, dict or dataclass borrows if any value in it does. ValueError for a memoryview that
    was released.
    """
    copies = []
    for leaf in leaves(value):
        if borrows(leaf, lent):
            return None
        copies.append(leaf)
    if len(copies) == 1 and copies[0] is value:
        reason = _reason(value)
    else:
        example = f" ({_reason(copies[0])})" if copies else ""
        reason = (
            f"none of the {len(copies)} values in this {type(value).__name__} is a view of the "
            f"cart{example}"
        )
    return f"{name_of(function)}'s result doesn't borrow from the cart: {reason}. {ADVICE}"


def name_of(function: Callable) -> str:
    return getattr(function, "__name__", type(function).__name__)


def leaves(value: Any) -> Iterator[Any]:
    """The values in nested tuples, lists, dicts and dataclasses, depth first; opens each container
    once.
    """
    opened: set[int] = set()
    left = [value]
    while left:
        node = left.pop()
        if is_dataclass(node) and not isinstance(node, type):
            inside = [getattr(node, field.name, None) for field in fields(node)]
        elif isinstance(node, dict):
            inside = list(node.values())
        elif isinstance(node, (tuple, list)):
            inside = list(node)
        else:
            yield node
            continue
        if id(node) not in opened:  # a list can hold itself
            opened.add(id(node))
            left.extend(reversed(inside))


def borrows(leaf: Any, lent: memoryview) -> bool:
    """Do `leaf` and `lent` overlap in memory, or does `leaf` lead to the owner of `lent`?
    np.may_share_memory compares the bounds of their addresses. An empty view has no addresses, only
    an owner.
    """
    try:
        array = leaf if isinstance(leaf, np.ndarray) else np.frombuffer(leaf, np.uint8)
        if np.may_share_memory(array, np.frombuffer(lent, np.uint8)):
            return True
    except (TypeError, ValueError, BufferError):  # no buffer, or not contiguous
        pass
    return any(owner is lent.obj for owner in way_to_owner(leaf))


def _reason(leaf: Any) -> str:
    kind = type(leaf).__name__
    if link_of(leaf):
        return (
            f"this {kind} is a view of another owner's bytes "
            f"({type(way_to_owner(leaf)[-1]).__name__})"
        )
    try:
        memoryview(leaf).release()
    except TypeError:
        return (
            f"{kind} has no buffer, and only tuples, lists, dicts and dataclasses are searched for "
            "views"
        )
    return f"{kind} owns its bytes, so it's a copy"
