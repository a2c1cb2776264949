"""What lets several yokes (yoke.py) in several threads share one cart: the last yoke to go closes it."""

import contextlib
import threading
import weakref
from typing import ClassVar, Generic, Protocol, TypeVar

C = TypeVar("C")


class Closes(Protocol):
    """All that a hitch needs of a cart (carts.py)."""

    def close(self) -> None: ...


class Hitch:
    """Shared by all loans of one cart. When the last loan lets go, the hitch closes the cart.

    Nothing is counted here: the interpreter counts the references to the hitch, as Rust's Rc counts its owners.

    yokes  id of each hitched yoke -> the name of its function, and the view it was lent
    loans  ids of the loans; with none left the hitch is on its way out, and a new loan needs a new hitch
    kept   True if somebody took the cart back, and will close it
    """

    _of_cart: ClassVar[weakref.WeakValueDictionary[int, "Hitch"]] = weakref.WeakValueDictionary()
    _lock = threading.RLock()  # reentrant: a finaliser may run here in the same thread

    def __init__(self, cart: Closes) -> None:
        self.cart, self.kept = cart, False
        self.yokes: dict[int, tuple[str, memoryview]] = {}
        self.loans: set[int] = set()

    @classmethod
    def by(cls, loan: "Loan", cart: Closes) -> "Hitch":
        """The hitch that the cart's loans share, or a new hitch. From now on it's theirs to close the cart (again)."""
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
            with contextlib.suppress(BufferError):  # some carts raise if a view escaped, instead of waiting for it
                self.cart.close()


class Loan(Generic[C]):
    """The bytes of a cart, lent. A yoke, its clones and their projections share one loan.

    owner  the object that came as the cart
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
        """The cart, which is now the caller's to close."""
        self.hitch.kept = True
        return self.owner

    def __del__(self) -> None:
        self.lent = None  # first, because the hitch may close the cart, and this view would stop it
        self.hitch.loans.discard(id(self))
