"""Yoke: a view and the owner that it borrows from (its cart), moved about as one.

In Rust a struct cannot hold an owner and a borrow from it: a lifetime is part of a borrow's type, and nobody can write
the name of one that begins inside the struct. The yoke crate (https://docs.rs/yoke) erases it: Yoke<Y, C> carries no
lifetime, and get() gives the view out for as long as the yoke itself is borrowed. Two things make that sound there,
and both have a twin here:

- StableDeref (https://docs.rs/stable_deref_trait): moving an owner does not move the bytes that it points to. Its twin
  is that binding an object to another name, or putting it into a list, moves nothing at all: addresses stay.
- The borrow checker: while something is borrowed, its owner can neither change nor go. Python's twin is the export
  count of the buffer protocol (PEP 3118), a borrow count kept at run time, as RefCell keeps one in Rust: while a view
  is out, a bytearray cannot grow nor a mapping close, and both say so with a BufferError.

What a Yoke does not protect from: the owner writing its bytes under the view (no count forbids that); a mapped file
overwritten, or truncated, by anybody (SIGBUS at the next read); views made around the count, of the owner itself:
np.ndarray(shape, buffer=mapping) and ctypes addresses borrow without an export, and attach() cannot tell.
"""

import sys
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .borrows import refusal
from .carts import cart_of
from .hitch import Hitch

Y = TypeVar("Y")
C = TypeVar("C")
Z = TypeVar("Z")
RELEASED: Any = object()


class Yoke(Generic[Y, C]):
    """A view Y that borrows from a cart C, which stays for as long as this does. Made by attach() or owned().

    To drop its last name releases it, as release() and the end of a `with` do. Once the last yoke of a cart is
    released, the cart is closed; a view taken out with get() and kept still holds the bytes (a name bound by
    `with yoke as view` outlives its block too). A yoke that is released or used up raises ValueError.
    """

    __slots__ = ("__weakref__", "_cart", "_hitch", "_lent", "_name", "_view")

    def __init__(self, view: Y, cart: C = None, lent: memoryview | None = None, hitch: Hitch | None = None,
                 name: str = "owned") -> None:  # fmt: skip
        self._view, self._cart, self._lent, self._hitch, self._name = view, cart, lent, hitch, name
        if hitch is not None:
            hitch.yokes[id(self)] = name, lent

    @classmethod
    def attach(cls, cart: C, function: Callable[[memoryview], Y]) -> "Yoke[Y, C]":
        """Lends the bytes of `cart` (all that cart_of takes) to `function`, and yokes what it makes of them.

        What it returns must borrow: share memory with the cart, or lead to it by `.obj` and `.base`; of a tuple, list,
        dict or dataclass at least one value must. ValueError if not. If that or the function fails, nothing is
        lent any more once the exception is gone, and the cart is as it was: the caller's.
        """
        wagon = cart_of(cart)
        lent = wagon.lend()
        view = function(lent[:])  # a view of its own: to release it leaves the loan as it is
        if why := refusal(view, lent, _name(function)):
            del view, lent  # or the traceback would keep them, and the bytes with them
            raise ValueError(why)
        with Hitch.lock:
            return cls(view, cart, lent, Hitch.of(wagon), _name(function))

    @classmethod
    def owned(cls, value: Y) -> "Yoke[Y, None]":
        """A value that borrows from nobody, where a yoke is asked for."""
        return cls(value)

    def get(self) -> Y:
        """The view; a memoryview anew each time, because whoever takes it may release it, and clones share the view."""
        view = self._view
        if view is RELEASED:
            raise ValueError(f"this yoke ({self._name}) is released, or was used up: attach the cart again")
        return memoryview(view) if type(view) is memoryview else view

    def _held(self) -> tuple[Y, C, memoryview | None, Hitch | None]:
        cart, lent, hitch = self._cart, self._lent, self._hitch
        return self.get(), cart, lent, hitch  # get() last: if another thread released it meanwhile, that says so

    def map_project(self, function: Callable[[Y], Z]) -> "Yoke[Z, C]":
        """A yoke of a part of the view, or of another view, over the same cart: checked as attach() does.

        Uses this yoke up; if it fails, this one is as it was.
        """
        before, cart, lent, hitch = self._held()  # now: the function may release this yoke
        view = function(before)
        if lent is not None and (why := refusal(view, lent, _name(function))):
            raise ValueError(why)
        projected = Yoke(view, cart, lent, hitch, _name(function))
        self.release()
        return projected

    def into_backing_cart(self) -> C:
        """The cart that attach() was given (None for an owned value); it is the caller's to close now.

        Uses this yoke up. Other yokes of the same cart go on; they will not close it.
        """
        _, cart, _, hitch = self._held()
        if hitch is not None:
            hitch.kept = True
        self.release()
        return cart

    def clone(self) -> "Yoke[Y, C]":
        """Another yoke of the same view and cart: three references, no bytes."""
        return Yoke(*self._held(), self._name)

    def release(self) -> None:
        """Lets go of view and cart; does nothing the second time. Views that were taken out stay valid."""
        hitch = getattr(self, "_hitch", None)
        if hitch is not None:
            hitch.yokes.pop(id(self), None)
        self._view, self._lent, self._cart = RELEASED, None, None
        self._hitch = None  # last: it may close the cart, which must not find this yoke's own views

    @property
    def size(self) -> int:
        """Bytes of the cart; of the value itself (sys.getsizeof) if it is owned."""
        view, _, _, hitch = self._held()
        return sys.getsizeof(view) if hitch is None else hitch.cart.size

    def __enter__(self) -> Y:
        return self.get()

    def __exit__(self, *error: object) -> None:
        self.release()

    __del__ = release
    __copy__ = clone

    def __repr__(self) -> str:
        cart = "released" if self._view is RELEASED else "no cart" if self._cart is None else repr(self._hitch.cart)
        return f"Yoke({self._name}: {cart})"


def _name(function: Callable) -> str:
    return getattr(function, "__name__", type(function).__name__)
