"""What hardens a yoke (yoke.py): several of them on one cart, in several threads, and the last one closes it."""

import contextlib
import threading
import weakref
from typing import ClassVar, Generic, Protocol, TypeVar

C = TypeVar("C")


class Closes(Protocol):
    """All that a hitch needs of a cart (carts.py)."""

    def close(self) -> None: ...


class Hitch:
    """Held by every loan of one cart; when the last of them lets go, the cart is closed.

    Nothing is counted here: the interpreter counts who refers to this object, as Rust's Rc counts its owners.

    yokes  id of a yoke that is hitched -> the name of its function, and the view that it was lent
    loans  ids of the loans; without any, this is about to end, and would not close the cart twice
    kept   somebody took the cart back, and will close it
    """

    _of_cart: ClassVar[weakref.WeakValueDictionary[int, "Hitch"]] = weakref.WeakValueDictionary()
    _lock = threading.RLock()  # a finaliser may run in the middle, and come here in the same thread

    def __init__(self, cart: Closes) -> None:
        self.cart, self.kept = cart, False
        self.yokes: dict[int, tuple[str, memoryview]] = {}
        self.loans: set[int] = set()

    @classmethod
    def by(cls, loan: "Loan", cart: Closes) -> "Hitch":
        """The one that the cart's loans share, a new one if it has none: the cart is theirs to close (again)."""
        with cls._lock:
            hitch = cls._of_cart.get(id(cart))
            if hitch is None or not hitch.loans:
                hitch = cls._of_cart[id(cart)] = cls(cart)
            hitch.kept = False
            hitch.loans.add(id(loan))
            return hitch

    @classmethod
    def yokes_of(cls, cart: Closes) -> list[tuple[str, memoryview]]:
        hitch = cls._of_cart.get(id(cart))
        return list(hitch.yokes.copy().values()) if hitch else []

    def __del__(self) -> None:
        if not self.kept:
            with contextlib.suppress(BufferError):  # from a cart that raises rather than waits for an escaped view
                self.cart.close()


class Loan(Generic[C]):
    """The bytes of a cart, lent. A yoke, its clones and what is projected from them hold one together.

    owner  what was handed over as the cart
    lent   a view of all its bytes, which the owner counts
    """

    __slots__ = ("hitch", "lent", "owner")

    def __init__(self, owner: C, cart: Closes, lent: memoryview) -> None:
        self.owner, self.lent, self.hitch = owner, lent, Hitch.by(self, cart)

    def hitched(self, yoke: object, name: str) -> None:
        self.hitch.yokes[id(yoke)] = name, self.lent

    def unhitched(self, yoke: object) -> None:
        self.hitch.yokes.pop(id(yoke), None)

    def taken_back(self) -> C:
        """The cart, which nobody here will close."""
        self.hitch.kept = True
        return self.owner

    def __del__(self) -> None:
        self.lent = None  # before the hitch goes: that may close the cart, which must not find this view
        self.hitch.loans.discard(id(self))
