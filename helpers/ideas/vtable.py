"""The bytes of dynamic dispatch: a table of functions and a pointer of two words, as in Rust's `&dyn Backend`.

    the pointer            the table of Affine as a backend, here one for all its values
    data   ──► a value     + 0  drop    ──► code that ends a value
    vtable ──────────────► + 8  size    16
                           +16  align    8
                           +24  infer   ──► code

`pointer.infer(x)` is: read the word at vtable + 24, call the function at that address with data and x. No name is
looked up, and no type is asked for: the offset 24 is all that the caller knows.

This is the layout that rustc uses today, whose drop is 0 where there is nothing to do, as for Affine. The language
promises neither it nor the two words, only that such a pointer is no smaller than a plain one (The Rust Reference,
"Type layout").
"""

import ctypes
from functools import cache

WORD = ctypes.sizeof(ctypes.c_void_p)
DROP = ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # void drop(void *data)
INFER = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_double)  # double infer(void *data, double x)


class Scale(ctypes.Structure):
    """A backend in 8 bytes."""

    _fields_ = (("factor", ctypes.c_double),)

    def infer(self, x: float) -> float:
        return self.factor * x


class Affine(ctypes.Structure):
    """A backend in 16 bytes."""

    _fields_ = (("factor", ctypes.c_double), ("offset", ctypes.c_double))

    def infer(self, x: float) -> float:
        return self.factor * x + self.offset


class VTable(ctypes.Structure):
    """What can be done with a value of one type, and the bytes it takes: all that is left of the type at run time."""

    _fields_ = (("drop", DROP), ("size", ctypes.c_size_t), ("align", ctypes.c_size_t), ("infer", INFER))


class FatPointer(ctypes.Structure):
    """Where the value lies, and where the table of its type lies."""

    _fields_ = (("data", ctypes.c_void_p), ("vtable", ctypes.c_void_p))


@cache  # one table a type, here; Rust writes one for each type and trait, and sometimes several copies of it
def vtable_of(kind: type[ctypes.Structure]) -> VTable:
    """The table of a type with a method `infer` and perhaps a method `drop`, which ends a value (else: zeros in it).

    ctypes makes C functions of the two (ctypes, "Callback functions"); each is given an address and no object.
    """
    if not (isinstance(kind, type) and issubclass(kind, ctypes.Structure) and callable(getattr(kind, "infer", None))):
        raise TypeError(f"{kind!r} makes no table: it must be a ctypes.Structure with a method infer(self, x)")

    def infer(data: int, x: float) -> float:
        return kind.infer(kind.from_address(data), x)

    def drop(data: int) -> None:
        getattr(kind, "drop", _wipe)(kind.from_address(data))

    return VTable(DROP(drop), ctypes.sizeof(kind), ctypes.alignment(kind), INFER(infer))


def _wipe(value: ctypes.Structure) -> None:
    ctypes.memset(ctypes.addressof(value), 0, ctypes.sizeof(value))


class DynBackend:
    """A backend whose type is erased, as `Box<dyn Backend>`: `DynBackend.of(Scale(2.0))`.

    ctypes.addressof keeps nothing alive, so value and table are held here beside the pointer that shows them.
    """

    def __init__(self, fat: FatPointer, owned: tuple[ctypes.Structure, VTable]):
        self.fat, self._owned = fat, owned

    @classmethod
    def of(cls, value: ctypes.Structure) -> "DynBackend":
        """The last place that knows the type of `value`. TypeError if no table can be made for it."""
        table = vtable_of(type(value))
        return cls(FatPointer(ctypes.addressof(value), ctypes.addressof(table)), (value, table))

    def infer(self, x: float) -> float:
        """Through the table; ValueError after `drop`. C knows no exceptions: one in the code behind the table is
        printed to stderr (ctypes, "Callback functions"), and what comes back then is no answer, but any number."""
        self._check()
        code = ctypes.c_void_p.from_address(self.fat.vtable + VTable.infer.offset).value
        return INFER(code)(self.fat.data, x)

    def drop(self) -> None:
        """Ends the value, through the table; ValueError the second time. Rust does it where the owner's scope ends."""
        self._check()
        code = ctypes.c_void_p.from_address(self.fat.vtable + VTable.drop.offset).value
        DROP(code)(self.fat.data)
        self._owned = None

    def _check(self) -> None:
        if self._owned is None:
            raise ValueError("this backend was dropped: its pointer shows bytes that are nobody's; make another one")


def words_of(what: ctypes.Structure | int, count: int | None = None) -> list[tuple[str, int]]:
    """The 8-byte words of a structure, or `count` words from an address: (field's name, or "+8"; the word as an int).

    A double is shown as the int that has its bits. An address is believed: where nothing is mapped, the process dies
    of SIGSEGV. ValueError: no whole words, or more than there are. TypeError: neither, or an address without count.
    """
    if isinstance(what, ctypes.Structure):
        start, size = ctypes.addressof(what), ctypes.sizeof(what)
        names = {getattr(type(what), name).offset: name for name, *_ in what._fields_}
        if size % WORD or not 0 <= (count or 0) <= size // WORD:
            asked = "a whole number of them" if count is None else count
            raise ValueError(f"a {type(what).__name__} of {size} bytes has {size / WORD:g} words, not {asked}")
        count = size // WORD if count is None else count
    elif isinstance(what, int) and what > 0 and count is not None:
        start, names = what, {}
    else:
        raise TypeError(f"no words at {what!r}, {count} of them: give a structure, or an address and a count")
    offsets = range(0, count * WORD, WORD)
    return [(names.get(at, f"+{at}"), ctypes.c_size_t.from_address(start + at).value) for at in offsets]
