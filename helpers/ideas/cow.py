"""Copy only on write: `Cow`, a value that is borrowed until somebody must change it, and owned from then on.

>>> weights = np.array([3.0, 4.0])
>>> cow = Cow.borrowed(weights)
>>> cow.value[0] = 0.0                          # through a borrow nothing can be written
Traceback (most recent call last):
ValueError: assignment destination is read-only
>>> cow.to_mut()[0] = 0.0                       # this clones, once, and hands out what is owned
>>> cow.value, weights
(array([0., 4.]), array([3., 4.]))

Rust's `std::borrow::Cow` is the same enum, Borrowed(&B) or Owned(<B as ToOwned>::Owned), and as in Rust `to_mut` clones
whether or not anything is then written. To use it after `into_owned` is a ValueError here; rustc refuses it (E0382).
What rustc refuses as well, and this cannot:

1. The owner writes while the value is lent (E0502, E0506). Python holds a lender of bytes only to its place.
   >>> lent = Cow.borrowed(weights)
   >>> weights[0] = 7.0
   >>> lent.value
   array([7., 4.])

2. The borrower breaks the seal (E0594). "Read-only" is a flag of the view, not a property of the memory, and numpy sets
   it back if the owner at the end of `.base` may be written (numpy.ndarray.setflags): bytes, for one, may not.
   >>> lent.value.setflags(write=True)
   >>> lent.value[0] = 8.0
   >>> weights
   array([8., 4.])

A clone is shallow: it copies references, so the list in the clone is the list in the source. Rust clones the inner
ones of a Vec<Vec<T>>; a Vec<Rc<T>> it clones as here.
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
    """A clone that may be changed: the twin of Rust's trait ToOwned, and the one place to teach Cow a new type.

    `to_owned.register(frozenset, set)` does; it also says that a frozenset, being read-only, can be lent as it is.
    """
    name = type(borrowed).__name__
    raise TypeError(f"how to clone a {name} is not known; if it is read-only, say how: to_owned.register({name}, …)")


@to_owned.register
def _(borrowed: np.ndarray) -> np.ndarray:
    return borrowed.copy(order="K")  # rows stay rows, columns stay columns, gaps between elements go


for lent in (bytes, bytearray, memoryview, mmap.mmap):
    to_owned.register(lent, bytearray)  # of a memoryview the bytes, not the shape
for lent, clone in {tuple: list, dict: dict, MappingProxyType: dict, str: str}.items():
    to_owned.register(lent, clone)  # of a str the same one: nobody can change it


def read_only(value: Any) -> Any:
    """A view of `value` through which it cannot be written; TypeError for a type that has none."""
    # A masked array's mask would stay writable. A plain one is not asked, because that would import numpy.ma.
    if type(value) is np.ndarray or (isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray)):
        view = value.view()
        view.flags.writeable = False
        return view
    if isinstance(value, bytearray | memoryview | mmap.mmap):
        return memoryview(value).toreadonly()
    if type(_lender(value)) is dict:  # a subclass may write when it is read: a defaultdict does
        return MappingProxyType(value)
    known = to_owned.dispatch(type(value)) is not to_owned.dispatch(object)
    if known and not isinstance(value, np.ndarray | dict | MappingProxyType):
        return value  # bytes, str, tuple, and what else was registered
    advice = "lend a tuple, a plain dict or a plain array made from it, or hand it over with Cow.owned(…)"
    raise TypeError(f"a {type(value).__name__} has no read-only view to lend: {advice}")


class Cow(Generic[T]):
    """Borrowed or owned. Make one with `Cow.borrowed(value)` or `Cow.owned(value)`; read `cow.value`."""

    def __init__(self, value: T, borrowed: bool):
        self._value, self._borrowed = value, borrowed

    @classmethod
    def borrowed(cls, value: T) -> "Cow[T]":
        """Lends a read-only view of `value`, and copies nothing. TypeError if it has none, as a list or defaultdict."""
        return cls(read_only(value), True)

    @classmethod
    def owned(cls, value: T) -> "Cow[T]":
        """Takes `value` as it is: whoever passes it should not use it again (Rust: it is moved)."""
        return cls(value, False)

    @property
    def value(self) -> T:
        """What may be read. ValueError after `into_owned`, as from all here."""
        if self._value is USED_UP:
            raise ValueError("this Cow was used up by into_owned(): use what that returned")
        return self._value

    @property
    def is_borrowed(self) -> bool:
        self.value  # noqa: B018  ValueError if it is used up
        return self._borrowed

    def to_mut(self) -> T:
        """What may be changed, of the type that `to_owned` gives. The first call on a borrowed value clones it."""
        if self.is_borrowed:
            self._value, self._borrowed = to_owned(self._value), False
        return self._value

    def into_owned(self) -> T:
        """The same, and the last use of this Cow."""
        owned, self._value = self.to_mut(), USED_UP
        return owned

    def __copy__(self) -> "Cow[T]":
        """As Rust's clone: a borrow is lent again, what is owned is copied. Two Cows never own the same value."""
        return Cow(self.value if self._borrowed else copy.copy(self.value), self._borrowed)

    def shares_memory_with(self, other: Any) -> bool:
        """Is a byte of it also a byte of `other`, a Cow or a value? A dict, tuple or str: is it the same object?

        numpy.shares_memory: the elements themselves, not the stretch they span; nothing empty shares any.
        """
        mine, others = self.value, other.value if isinstance(other, Cow) else other
        try:
            return np.shares_memory(_array(mine), _array(others))
        except TypeError:
            return _lender(mine) is _lender(others)

    def __repr__(self) -> str:
        how = "borrowed" if self._borrowed else "owned"
        return "Cow(used up)" if self._value is USED_UP else f"Cow.{how}({_in_short(self._value)})"


def _array(value: Any) -> np.ndarray:
    """The bytes of `value` as an array, not copied; TypeError if it has no buffer."""
    if isinstance(value, np.ndarray):
        return value
    view = memoryview(value)  # in one piece its bytes will do: numpy does not know every format, such as c_wchar's
    return np.frombuffer(view, np.uint8) if view.c_contiguous else np.asarray(view)


def _lender(value: Any) -> Any:
    """The dict under a MappingProxyType, which shows it to nobody but the collector; anything else itself."""
    while isinstance(value, MappingProxyType):
        value = gc.get_referents(value)[0]
    return value


def _in_short(value: Any) -> str:
    """One short line, even for a mapping of gigabytes."""
    if isinstance(value, bytes | bytearray | memoryview | mmap.mmap):
        return f"{type(value).__name__} of {memoryview(value).nbytes:,} bytes"
    with np.printoptions(threshold=5, edgeitems=2, precision=4):
        words = " ".join((repr(value) if isinstance(value, np.ndarray) else reprlib.repr(_lender(value))).split())
    return words if len(words) <= 70 else f"{words[:69]}…"
