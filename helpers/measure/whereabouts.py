"""`where(x)`: whose memory the bytes of an array or view lie in, and which object owns them: zero-copy, proved."""

import mmap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..owners import link_of, mapping_under, way_to_owner
from ..units import NOT_MEASURED, in_words
from . import maps
from .lenders import lender_of, register
from .pages import PageMap, extent, page_map
from .tables import NONE, Tabled

MOST = 100  # parts that are looked at: a table can have thousands of columns


@dataclass(frozen=True, eq=False, repr=False)
class Whereabouts(Tabled):
    """Where a buffer's bytes lay at one moment. It keeps no view of them alive.

    memory   "file", "shared memory", "anonymous mapping", "heap" or "stack"; NOT_MEASURED without /proc
             ("heap" is everything from malloc, which maps big blocks apart; no mmap object of Python's owns those)
    address, size     of the lowest byte, and bytes up to the end of the highest element
    path, offset      the file, and how many bytes into it these begin; None if there is no file
    owners            the object, what it is a view of, and so on: (type, description); the last owns the bytes
    writable, reason  can you write through this object, into these pages; and why not, or who sees it
    states            the pages that hold the bytes; the first and last page may hold other bytes too
    nbytes            of its elements alone: less than `size` if there are gaps, more if elements share bytes
    layout            type, shape, order, and the strides if there are gaps; "" for plain bytes
    note              what its library says about it: "elements 10 to 20", or who else sees the bytes
    """

    memory: str
    address: int
    size: int
    path: Path | None
    offset: int | None
    owners: tuple[tuple[str, str], ...]
    writable: bool
    reason: str | None
    states: PageMap
    nbytes: int | None = None
    layout: str = ""
    note: str = ""

    @property
    def pages(self) -> int | None:
        """How many pages hold the bytes; None if not measured."""
        return None if self.states.states is None else len(self.states)

    @property
    def present(self) -> int | None:
        """How many of these pages were in memory; None if not measured."""
        return self.states.present

    @property
    def file(self) -> str | None:
        """The file's name, with ", deleted" if it has been; None if there is no file."""
        return self.path and self.path.name + ", deleted" * self.states.region.deleted

    @property
    def place(self) -> str:
        """The memory; of a file its name and the first byte."""
        return f"{self.memory}: {self.file}, from byte {self.offset:,}" if self.path else self.memory

    @property
    def extent(self) -> str:
        """ "76.3 MiB"; of a view with gaps "76.3 MiB of elements, in 153 MiB"."""
        size = in_words(self.size, "bytes")
        return size if self.nbytes in (None, self.size) else f"{in_words(self.nbytes, 'bytes')} of elements, in {size}"

    @property
    def title(self) -> str:
        return f"Where the bytes of this {self.owners[0][0]} lie"

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        states, yes = self.states, "yes" if self.writable else "no"
        rows = [
            ("memory", self.place),
            ("layout", self.layout),
            ("bytes", f"{self.extent} at {self.address:#x}"),
            ("pages in memory", f"not here: {states.why}" if states.why else f"{self.present:,} of {self.pages:,}"),
            *((f"… {state.words}", f"{count:,}") for state, count in states.counts.items() if state),
            ("writable", f"{yes}: {self.reason}" if self.reason else yes),
            *(("owned by" if i else "object", f"{name}: {role}") for i, (name, role) in enumerate(self.owners)),
            ("note", self.note),
        ]
        return ("property", "where"), [row for row in rows if row[1]]


@dataclass(frozen=True, eq=False, repr=False)
class Parts(Tabled, Mapping):
    """What an object is made of, at one moment: by name, where the part lay, or a line that says what it is instead."""

    kind: str
    parts: dict[str, Whereabouts | str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Whereabouts | str:
        return self.parts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def title(self) -> str:
        return f"Where the parts of this {self.kind} lie"

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        if all(isinstance(part, str) for part in self.values()):
            return ("part", "what it is"), [*self.items()]
        rows = [(name, *_cells(part)) for name, part in self.items()]
        return ("part", "what it is", "bytes", "memory", "owned by"), rows


def where(x: Any) -> Whereabouts | Parts:
    """Whose memory the bytes of `x` lie in. `x` is an array, memoryview, mapping, bytes, or anything with a buffer.

    What a library makes of several buffers gives its Parts, by name: a frame, an Arrow table, a sparse tensor. What
    lends no buffer (a dataset in a file, an image) gives lines that say what it holds instead, and what to ask. A type
    of your own is told in a function: `where.register`.

    Looking brings no page in, and copies nothing. TypeError if `x` has no buffer (a list's elements lie all over the
    heap), ValueError for a closed mapping or an empty buffer, which lies nowhere.
    """
    try:
        found = (lender_of(x) or of_buffer)(x)
    except (TypeError, ValueError):
        raise
    except Exception as error:  # anybody's code
        raise ValueError(f"where this {type(x).__name__} lies is not known: {error}") from None
    if isinstance(found, Whereabouts):
        return found
    parts = _first(parts_of(found))
    if list(parts) == [""] and isinstance(parts[""], Whereabouts):
        return parts[""]
    return Parts(type(x).__name__, {name or "values": part for name, part in parts.items()})


where.register = register


def parts_of(found: Iterable[tuple], name: str = "", note: str = "") -> Iterator[tuple[str, Whereabouts | str]]:
    """The parts that a lender gives, and the parts of those, under their full names. What it raises becomes a line."""
    try:
        for role, part, *more in found:
            full, notes = ", ".join(filter(None, (name, role))), "; ".join(filter(None, (note, *more)))
            if not isinstance(part, (str, Whereabouts)):
                part = _told(part)
            if isinstance(part, Whereabouts):
                part = replace(part, note="; ".join(filter(None, (part.note, notes))))
            yield from [(full, part)] if isinstance(part, (str, Whereabouts)) else parts_of(part, full, notes)
    except Exception as error:  # anybody's code
        yield name or "…", f"not known: {type(error).__name__}: {error}"


def _told(part: Any) -> Whereabouts | str | Iterable[tuple]:
    try:
        return (lender_of(part) or of_buffer)(part)
    except (TypeError, ValueError) as error:
        return str(error)


def _first(parts: Iterator[tuple[str, Whereabouts | str]]) -> dict[str, Whereabouts | str]:
    """The first parts by name, where a name may come twice."""
    named: dict[str, Whereabouts | str] = {}
    for name, part in islice(parts, MOST):
        twins = sum(other.split(" #")[0] == name for other in named)
        named[f"{name} #{twins + 1}" if twins else name] = part
    if not named:
        named["…"] = "it has no buffer"
    if next(parts, None):
        named["…"] = f"only the first {MOST} parts are shown: ask about a single column or chunk for the others"
    return named


def _cells(part: Whereabouts | str) -> Sequence[str]:
    if isinstance(part, str):
        return part, NONE, NONE, NONE
    what = "; ".join(filter(None, (part.layout, part.note))) or "bytes"
    return what, part.extent, f"{part.place}, at {part.address:#x}", ": ".join(part.owners[-1])


def of_buffer(x: Any) -> Whereabouts:
    """Where the bytes of anything with a buffer lie. Errors as for `where`."""
    try:
        address, size = extent(x)
    except TypeError:
        raise TypeError(f"{type(x).__name__} shows no bytes of its own: {_way_on(type(x))}") from None
    array = x if isinstance(x, np.ndarray) else memoryview(x)
    owners = tuple((type(owner).__name__, _role(owner)) for owner in way_to_owner(x))
    writable = array.flags.writeable if isinstance(array, np.ndarray) else not array.readonly
    found = at(address, size, owners, writable, mapping_under(x) is not None)
    return replace(found, nbytes=array.nbytes, layout=_layout_of(array), note=_elsewhere(array))


def at(
    address: int, size: int, owners: tuple[tuple[str, str], ...], writable: bool, mapped: bool = False
) -> Whereabouts:
    """Where bytes at an address of this process lie. `mapped`: an mmap object of Python's owns them."""
    states = page_map(address=address, size=size)
    region = states.region
    if region is None:
        return Whereabouts(NOT_MEASURED, address, size, None, None, owners, writable, None, states)
    memory = region.kind
    if memory == "anonymous":
        memory = "anonymous mapping" if mapped else "heap"
    path = offset = None
    if memory in ("file", "shared memory") and not region.path.startswith(("/dev/zero", "[", "/SYSV")):
        path, offset = Path(region.path.removesuffix(maps.DELETED)), region.offset + address - region.start
    mapping_too = region.permissions[1] == "w"
    if not writable:
        reason = "a read-only view" if mapping_too else "a read-only view of a read-only mapping"
    elif not mapping_too:
        reason = "the mapping is read-only"
    else:
        reason = "everybody who maps it sees it" if region.shared else "into a page of this process alone"
    return Whereabouts(memory, address, size, path, offset, owners, writable and mapping_too, reason, states)


def layout(kind: str, shape: Sequence[int], strides: Sequence[int], c: bool, f: bool) -> str:
    """ "float64 (4000, 3000), F order". Strides are in bytes."""
    order = "C order" if c else "F order" if f else f"neither C nor F order, strides {tuple(strides)} bytes"
    return f"{kind} {tuple(shape)}, {order}"


def _layout_of(array: np.ndarray | memoryview) -> str:
    if isinstance(array, np.ndarray):
        flags = array.flags
        return layout(array.dtype.name, array.shape, array.strides, flags.c_contiguous, flags.f_contiguous)
    if (array.format, array.ndim, array.c_contiguous) == ("B", 1, True):
        return ""
    return layout(f"'{array.format}'", array.shape, array.strides, array.c_contiguous, array.f_contiguous)


def _elsewhere(array: np.ndarray | memoryview) -> str:
    kind = array.dtype.kind if isinstance(array, np.ndarray) else ""
    return {"O": "references: the objects lie all over the heap", "T": "strings of over 15 bytes lie elsewhere"}.get(
        kind, ""
    )


def _way_on(kind: type) -> str:
    """What to ask instead."""
    if issubclass(kind, (list, tuple, dict, set, frozenset)):
        return "its elements lie all over the heap; ask about an element"
    if issubclass(kind, str):
        return "Python doesn't lend its characters; x.encode() copies them"
    if hasattr(kind, "__array__"):
        return "ask where(np.asarray(x)), and once more: if the address changes, each answer is about a copy"
    return "ask about what it keeps, as where(x.data), or say what that is: help(where.register)"


def _role(owner: Any) -> str:
    if isinstance(owner, mmap.mmap):
        return f"a mapping of {in_words(len(owner), 'bytes')}"
    if isinstance(owner, (np.ndarray, memoryview)):
        size = in_words(owner.nbytes, "bytes")
        if isinstance(owner, np.ndarray) and link_of(owner) is None:
            return f"owns its {size}" if owner.flags.owndata else f"a view of {size} that no object owns"
        return f"a view of {size}"
    if isinstance(owner, (bytes, bytearray)):
        return f"owns its {in_words(len(owner), 'bytes')}"
    return "lends its bytes"
