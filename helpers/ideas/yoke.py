"""Yoke: a view and the owner that it borrows from (its cart), moved about as one.

In Rust a struct cannot hold an owner and a borrow from it: a lifetime is part of a borrow's type, and nobody can write
the name of one that begins inside the struct. The yoke crate (https://docs.rs/yoke) erases it: the view is good for as
long as the yoke is. Two promises make that sound, and Python keeps both:

- An owner that moves leaves its bytes where they are (StableDeref). In Python a name only refers: addresses stay.
- An owner neither goes nor grows while it is borrowed (the borrow checker). Python counts the views that are out
  (PEP 3118), and raises BufferError.

What no yoke protects from: the owner may write its bytes under the view; anybody may overwrite a mapped file, or cut it
short (SIGBUS); and a view made around the count, np.ndarray(shape, buffer=mapping), is not counted.

What can be a cart is in carts.py, what counts as a borrow in borrows.py, and in hitch.py what a cart needs that has
several yokes, in several threads.
"""

import sys
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .borrows import borrowed, lend, name_of
from .hitch import Loan

Y = TypeVar("Y")
C = TypeVar("C")
Z = TypeVar("Z")
RELEASED: Any = object()


class Yoke(Generic[Y, C]):
    """A view Y, and the loan of a cart C that it was made of. Made by attach() or owned().

    It lets go of both by release(), at the end of a `with`, or with its last name; a view that was taken out stays
    valid. The last yoke of a cart closes it (hitch.py: when the last Loan goes). A yoke that is released or used up
    raises ValueError.
    """

    __slots__ = ("__weakref__", "_loan", "_name", "_view")

    def __init__(self, loan: Loan[C] | None, view: Y, name: str) -> None:
        self._loan, self._view, self._name = loan, view, name
        if loan is not None:
            loan.hitched(self, name)

    @classmethod
    def attach(cls, cart: C, function: Callable[[memoryview], Y]) -> "Yoke[Y, C]":
        """Lends the bytes of `cart` to `function`, and yokes the view that it makes of them. ValueError for a copy."""
        loan, view = lend(cart, function)
        return cls(loan, view, name_of(function))

    @classmethod
    def owned(cls, value: Y) -> "Yoke[Y, None]":
        """A value that borrows from nobody, where a yoke is asked for."""
        return cls(None, value, "owned")

    def get(self) -> Y:
        """The view; a memoryview anew each time, because whoever takes it may release it, and clones share the view."""
        view = self._view
        if view is RELEASED:
            raise ValueError(f"this yoke ({self._name}) is released, or was used up: attach the cart again")
        return memoryview(view) if type(view) is memoryview else view

    def map_project(self, function: Callable[[Y], Z]) -> "Yoke[Z, C]":
        """A yoke of a part of the view, over the same cart. Uses this one up; if it fails, this one is as it was."""
        loan, view = self._loan, self.get()  # the loan first: if another thread releases this yoke now, get() says so
        projected = Yoke(loan, borrowed(function, view, loan), name_of(function))
        self.release()
        return projected

    def clone(self) -> "Yoke[Y, C]":
        """Another yoke of the same view and cart: no bytes are copied."""
        return Yoke(self._loan, self.get(), self._name)

    def into_backing_cart(self) -> C:
        """The cart that attach() was given, the caller's to close now; None for an owned value. Uses this yoke up."""
        loan, _ = self._loan, self.get()
        self.release()
        return None if loan is None else loan.taken_back()

    def release(self) -> None:
        """Lets go of view and cart; does nothing the second time."""
        loan = getattr(self, "_loan", None)  # None too if it was never made whole
        self._view, self._loan = RELEASED, None
        if loan is not None:
            loan.unhitched(self)

    @property
    def size(self) -> int:
        """Bytes of the cart; of the value itself (sys.getsizeof) if it is owned."""
        loan, view = self._loan, self.get()
        return sys.getsizeof(view) if loan is None else loan.hitch.cart.size

    def __enter__(self) -> Y:
        return self.get()

    def __exit__(self, *error: object) -> None:
        self.release()

    __del__ = release
    __copy__ = clone

    def __repr__(self) -> str:
        loan = self._loan
        cart = "released" if self._view is RELEASED else "no cart" if loan is None else repr(loan.hitch.cart)
        return f"Yoke({self._name}: {cart})"
