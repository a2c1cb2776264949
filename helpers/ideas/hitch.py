"""Hitch: what ties the yokes of one cart together, so that the last of them closes it."""

import contextlib
import threading
import weakref
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from .carts import Cart


class Hitch:
    """Held by every yoke of one cart; when the last of them lets go, the cart is closed.

    Nothing is counted here: the interpreter counts who refers to this object, as Rust's Rc counts its owners.

    yokes  id of a yoke that is hitched -> the name of its function, and the view that it was lent
    kept   somebody took the cart back, and will close it
    """

    _of_cart: ClassVar[weakref.WeakValueDictionary[int, "Hitch"]] = weakref.WeakValueDictionary()
    lock = threading.RLock()  # a finaliser may run in the middle, and come here in the same thread

    def __init__(self, cart: "Cart") -> None:
        self.cart, self.kept = cart, False
        self.yokes: dict[int, tuple[str, memoryview]] = {}

    @classmethod
    def of(cls, cart: "Cart") -> "Hitch":
        """The one that the cart's yokes share, a new one if it has none: the cart is theirs to close (again).

        Call it, and hitch a yoke, under `lock`: one without yokes is about to end, and would not close the cart twice.
        """
        with cls.lock:
            hitch = cls._of_cart.get(id(cart))
            if hitch is None or not hitch.yokes:
                hitch = cls._of_cart[id(cart)] = cls(cart)
            hitch.kept = False
            return hitch

    @classmethod
    def yokes_of(cls, cart: "Cart") -> list[tuple[str, memoryview]]:
        hitch = cls._of_cart.get(id(cart))
        return list(hitch.yokes.copy().values()) if hitch else []

    def __del__(self) -> None:
        if not self.kept:
            with contextlib.suppress(BufferError):  # from a cart that raises rather than waits for an escaped view
                self.cart.close()
