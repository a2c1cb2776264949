"""Yoke: a view and the owner it borrows from (its cart), which travel as one.

In Rust, a struct can't hold an owner and a borrow from that owner. A borrow's type includes a
lifetime, and there's no way to name a lifetime that begins inside the struct. The yoke crate
(https://docs.rs/yoke) erases the lifetime: the view is good for as long as the yoke is. Two
promises make that sound, and Python keeps both:

- When an owner moves, its bytes stay where they are (StableDeref). Python moves names, never
  objects.
- While an owner is borrowed, it neither goes nor grows (the borrow checker). Python counts the
  views that are out
  (PEP 3118), and raises BufferError.

A yoke can't protect you from everything. The owner may write its bytes under the view. Anybody may
overwrite a mapped file or truncate it (SIGBUS). And np.ndarray(shape, buffer=mapping) makes a view
that isn't counted.

carts.py says what can be a cart, what counts as a borrow, and how several yokes share a cart.
"""

import sys
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .carts import Loan, copy_reason, name_of

Y = TypeVar("Y")
C = TypeVar("C")
Z = TypeVar("Z")
RELEASED: Any = object()


class Yoke(Generic[Y, C]):
    """A view Y, and the loan of the cart C that the view was made from. Make a yoke with attach()
    or owned(). A yoke lets go of both on release(), at the end of a `with`, or when its last name
    goes; a view you took out stays valid. The last yoke of a cart closes the cart. A yoke that was
    released or used up raises ValueError.
    """

    __slots__ = ("__weakref__", "_loan", "_name", "_view")

    def __init__(self, loan: Loan | None, view: Y, name: str) -> None:
        self._loan, self._view, self._name = loan, view, name

    @classmethod
    def attach(cls, cart: C, function: Callable[[memoryview], Y]) -> "Yoke[Y, C]":
        """Lends the bytes of `cart` to `function` and yokes the view that it returns. ValueError
        for a copy.
        """
        loan, view = Loan.of(cart, function)
        return cls(loan, view, name_of(function))

    @classmethod
    def owned(cls, value: Y) -> "Yoke[Y, None]":
        """A yoke without a cart, for a value that borrows from nobody."""
        return cls(None, value, "owned")

    def get(self) -> Y:
        """The view. A memoryview comes fresh each time: the caller may release it, and clones share
        the original.
        """
        view = self._view
        if view is RELEASED:
            raise ValueError(
                f"this yoke ({self._name}) was released or used up: attach the cart again"
            )
        return memoryview(view) if type(view) is memoryview else view

    def map_project(self, function: Callable[[Y], Z]) -> "Yoke[Z, C]":
        """A yoke of a part of the view, over the same cart. Uses up this yoke, or on failure leaves
        it as it was.
        """
        loan = self._loan
        lent = self._loan and self._loan.lent
        view = function(self.get())
        if lent is not None and (reason := copy_reason(view, lent, function)):
            raise ValueError(reason)
        projected = Yoke(loan and loan.join(), view, name_of(function))
        self.release()
        return projected

    def clone(self) -> "Yoke[Y, C]":
        """Another yoke of the same view and cart. Copies no bytes."""
        # the loan first: get() raises if another thread releases this yoke now
        loan = self._loan
        view = self.get()
        return Yoke(loan and loan.join(), view, self._name)

    def release(self) -> None:
        """Lets go of view and cart. Calling it again does nothing."""
        loan = getattr(self, "_loan", None)  # no _loan yet if __init__ failed
        self._view, self._loan = RELEASED, None
        if loan is not None:
            loan.leave()

    @property
    def size(self) -> int:
        """Bytes in the cart, or in an owned value (sys.getsizeof)."""
        loan = self._loan
        view = self.get()
        return sys.getsizeof(view) if loan is None else loan.cart.size

    def __enter__(self) -> Y:
        return self.get()

    def __exit__(self, *error: object) -> None:
        self.release()

    __del__ = release
    __copy__ = clone

    def __repr__(self) -> str:
        loan = self._loan
        cart = (
            "released" if self._view is RELEASED else "no cart" if loan is None else repr(loan.cart)
        )
        return f"Yoke({self._name}: {cart})"
