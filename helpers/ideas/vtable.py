"""The bytes of dynamic dispatch: a table of functions and a pointer of two words, as in Rust's
`&dyn Backend`.

    the pointer            the table for Affine as a backend, shared by all Affines
    data   ──► a value     + 0  drop    ──► code that destroys a value
    vtable ──────────────► + 8  size    16
                           +16  align    8
                           +24  infer   ──► code

`pointer.infer(x)` means: read the word at vtable + 24, and call the function at that address with
data and x. Nobody looks up a name or checks a type. The offset 24 is all the caller knows.

rustc uses this layout today, with 0 as drop if there's nothing to do, as for Affine. The language
promises neither the layout nor the two words, only that such a pointer is no smaller than a plain
pointer (The Rust Reference, "Type layout").
"""

import ctypes
from functools import cache

WORD = ctypes.sizeof(ctypes.c_void_p)
DROP = ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # void drop(void *data)
# double infer(void *data, double x)
INFER = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_double)


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
    """What you can do with a value of one type, and how many bytes it takes:
    all that run time knows of the type.
    """

    _fields_ = (
        ("drop", DROP),
        ("size", ctypes.c_size_t),
        ("align", ctypes.c_size_t),
        ("infer", INFER),
    )


class FatPointer(ctypes.Structure):
    """The address of a value, and the address of the table for its type (in Rust, for its type and
    this trait).
    """

    _fields_ = (("data", ctypes.c_void_p), ("vtable", ctypes.c_void_p))


@cache  # one table per type; Rust makes one per type and trait, and sometimes several copies
def vtable_of(kind: type[ctypes.Structure]) -> VTable:
    """The table of a type with a method `infer`, and perhaps `drop` to destroy a value (by default:
    zeros its bytes). ctypes turns both into C functions (ctypes, "Callback functions"). They
    receive an address, not an object.
    """
    if not (
        isinstance(kind, type)
        and issubclass(kind, ctypes.Structure)
        and callable(getattr(kind, "infer", None))
    ):
        raise TypeError(
            f"no table for {kind!r}: pass a subclass of ctypes.Structure with a method "
            "infer(self, x)"
        )

    def infer(data: int, x: float) -> float:
        return kind.infer(kind.from_address(data), x)

    def drop(data: int) -> None:
        if hasattr(kind, "drop"):
            kind.drop(kind.from_address(data))
        else:
            ctypes.memset(data, 0, ctypes.sizeof(kind))

    return VTable(DROP(drop), ctypes.sizeof(kind), ctypes.alignment(kind), INFER(infer))


class DynBackend:
    """A backend whose type is erased, like `Box<dyn Backend>`: `DynBackend.of(Scale(2.0))`.

    ctypes.addressof keeps nothing alive, so DynBackend holds the value and the table next to the
    pointer to them. C has no exceptions: if the code behind the table raises, ctypes prints the
    error to stderr ("Callback functions"), and the number you get back is garbage.
    """

    def __init__(self, fat: FatPointer, owned: tuple[ctypes.Structure, VTable]):
        self.fat, self._owned = fat, owned

    @classmethod
    def of(cls, value: ctypes.Structure) -> "DynBackend":
        """Erases the type of `value`: nobody after this knows it. TypeError if the type can't have
        a table.
        """
        table = vtable_of(type(value))
        return cls(FatPointer(ctypes.addressof(value), ctypes.addressof(table)), (value, table))

    def infer(self, x: float) -> float:
        """Calls `infer` through the table; ValueError after `drop`."""
        self._check()
        code = ctypes.c_void_p.from_address(self.fat.vtable + VTable.infer.offset).value
        return INFER(code)(self.fat.data, x)

    def drop(self) -> None:
        """Destroys the value by its table; ValueError the second time. Rust does it where the
        owner's scope ends.
        """
        self._check()
        code = ctypes.c_void_p.from_address(self.fat.vtable + VTable.drop.offset).value
        DROP(code)(self.fat.data)
        self._owned = None

    def _check(self) -> None:
        if self._owned is None:
            raise ValueError(
                "this backend was dropped: its pointer leads to bytes nobody owns; make a new "
                "backend"
            )


def words_of(what: ctypes.Structure) -> list[tuple[str, int]]:
    """The 8-byte words of a structure: (field's name, or "+8"; the word as an int). A double
    appears as the int with the same bits.
    """
    names = {getattr(type(what), name).offset: name for name, *_ in what._fields_}
    start = ctypes.addressof(what)
    offsets = range(0, ctypes.sizeof(what) // WORD * WORD, WORD)
    return [
        (names.get(at, f"+{at}"), ctypes.c_size_t.from_address(start + at).value) for at in offsets
    ]
