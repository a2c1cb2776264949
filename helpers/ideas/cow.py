"""Copy only on write: `Cow`, a value that's borrowed until somebody needs to change it, and owned
from then on.

>>> weights = np.array([3.0, 4.0])
>>> cow = Cow.borrowed(weights)
>>> cow.value[0] = 0.0                          # a borrow can't be written to
Traceback (most recent call last):
ValueError: assignment destination is read-only
>>> cow.to_mut()[0] = 0.0                       # clones once, and hands out the clone
>>> cow.value, weights
(array([0., 4.]), array([3., 4.]))

Rust's `std::borrow::Cow` is the same idea as an enum, Borrowed(&B) or Owned(<B as ToOwned>::Owned).
As in Rust, `to_mut` clones even if nothing is written afterwards. Using a Cow after `into_owned`
raises ValueError here; rustc refuses it (E0382). rustc refuses two more things that this class
can't:

1. The owner writes while the value is lent (E0502, E0506). Python only keeps the lent bytes from
   moving.
   >>> lent = Cow.borrowed(weights)
   >>> weights[0] = 7.0
   >>> lent.value
   array([7., 4.])

2. The borrower breaks the seal (E0594). "Read-only" is a flag on the view, not a property of the
   memory. numpy clears
   it if the owner at the end of `.base` is writable (numpy.ndarray.setflags); bytes, for example,
     aren't.
   >>> lent.value.setflags(write=True)
   >>> lent.value[0] = 8.0
   >>> weights
   array([8., 4.])

A clone is shallow: it copies references, so the list in the clone is the list in the source. Rust
  clones a Vec<Rc<T>>
like this too, but in a Vec<Vec<T>> it clones the inner vectors.
   >>> source = {"layers": [1, 2]}
   >>> Cow.borrowed(source).to_mut()["layers"].append(3)
   >>> source
   {'layers': [1, 2, 3]}
"""

import copy
import gc
import mmap
import reprlib
from functools import singledispatch
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import numpy as np

T = TypeVar("T")
USED_UP = object()


@singledispatch
def to_owned(borrowed: Any) -> Any:
    """A clone you can change: the twin of Rust's trait ToOwned, and the place to teach Cow a new
    type. For one that is read-only, `to_owned.register(frozenset, set)` does that, and Cow can lend
    it.
    """
    name = type(borrowed).__name__
    raise TypeError(
        f"Cow can't clone a {name}; if a {name} is read-only, say how: to_owned.register({name}, …)"
    )


@to_owned.register
def _(borrowed: np.ndarray) -> np.ndarray:
    # keeps rows or columns in their order, drops gaps between elements
    return borrowed.copy(order="K")


for lent in (bytes, bytearray, memoryview, mmap.mmap):
    to_owned.register(lent, bytearray)  # a memoryview loses its shape
for lent, clone in {tuple: list, dict: dict, MappingProxyType: dict, str: str}.items():
    to_owned.register(lent, clone)  # str(text) is text itself: nobody can change it


def read_only(value: Any) -> Any:
    """A read-only view of `value`; TypeError for a type that has none."""
    # A masked array's mask would stay writable. The type() check comes first, because np.ma is slow
    # to import.
    if type(value) is np.ndarray or (
        isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray)
    ):
        view = value.view()
        view.flags.writeable = False
        return view
    if isinstance(value, bytearray | memoryview | mmap.mmap):
        return memoryview(value).toreadonly()
    if type(_lender(value)) is dict:  # reading a subclass may write to it, as with defaultdict
        return MappingProxyType(value)
    known = to_owned.dispatch(type(value)) is not to_owned.dispatch(object)
    if known and not isinstance(value, np.ndarray | dict | MappingProxyType):
        return value  # bytes, str, tuple, and any type registered since
    advice = (
        "lend a tuple, plain dict or plain array made from it, or give it away with Cow.owned(…)"
    )
    raise TypeError(f"a {type(value).__name__} has no read-only view to lend: {advice}")


class Cow(Generic[T]):
    """Borrowed or owned. Make one with `Cow.borrowed(value)` or `Cow.owned(value)`; read
    `cow.value`.
    """

    def __init__(self, value: T, borrowed: bool):
        self._value, self._borrowed = value, borrowed

    @classmethod
    def borrowed(cls, value: T) -> "Cow[T]":
        """Lends a read-only view of `value` and copies nothing. TypeError if there's none (a list,
        a defaultdict).
        """
        return cls(read_only(value), True)

    @classmethod
    def owned(cls, value: T) -> "Cow[T]":
        """Takes `value` as it is. Don't use `value` afterwards (in Rust it's moved)."""
        return cls(value, False)

    @property
    def value(self) -> T:
        """The value, to read. ValueError after `into_owned`, as with every method here."""
        if self._value is USED_UP:
            raise ValueError("into_owned() used up this Cow: use the value that it returned")
        return self._value

    @property
    def is_borrowed(self) -> bool:
        self.value  # noqa: B018  ValueError if used up
        return self._borrowed

    def to_mut(self) -> T:
        """The value, to change; of the type that `to_owned` returns. The first call on a borrowed
        value clones it.
        """
        if self.is_borrowed:
            self._value = to_owned(self._value)
            self._borrowed = False
        return self._value

    def into_owned(self) -> T:
        """Like to_mut(), and the last use of this Cow."""
        owned = self.to_mut()
        self._value = USED_UP
        return owned

    def __copy__(self) -> "Cow[T]":
        """Like Rust's clone: lends a borrow again, copies an owned value. Two Cows never own the
        same value.
        """
        return Cow(self.value if self._borrowed else copy.copy(self.value), self._borrowed)

    def __repr__(self) -> str:
        """One short line, even for a mapping of gigabytes."""
        value = self._value
        if value is USED_UP:
            return "Cow(used up)"
        if isinstance(value, bytes | bytearray | memoryview | mmap.mmap):
            text = f"{type(value).__name__} of {memoryview(value).nbytes:,} bytes"
        else:
            with np.printoptions(threshold=5, edgeitems=2, precision=4):
                text = (
                    repr(value) if isinstance(value, np.ndarray) else reprlib.repr(_lender(value))
                )
            text = " ".join(text.split())
        if len(text) > 70:
            text = f"{text[:69]}…"
        return f"Cow.{'borrowed' if self._borrowed else 'owned'}({text})"


def _lender(value: Any) -> Any:
    """The dict under a MappingProxyType, which only the garbage collector can see; any other value
    itself.
    """
    while isinstance(value, MappingProxyType):
        value = gc.get_referents(value)[0]
    return value
