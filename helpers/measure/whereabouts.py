"""`where(x)`: whose memory the bytes of an array or view lie in, and which object owns them:
zero-copy, proved.
"""

import mmap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..owners import link_of, mapping_under, way_to_owner
from ..units import NOT_MEASURED, in_words
from . import maps
from .pages import PageMap, extent, page_map
from .tables import NONE, Count, Rows, Tabled

MOST = 100  # parts that are looked at: a table can have thousands of columns
MOST_COUNTED = 1_000_000  # references
STRINGS = "strings of over 15 bytes lie elsewhere"
# What gives an iterable of (name, part) or (name, part, note), or a Whereabouts.
Describer = Callable[[Any], Any]
DESCRIBERS: dict[type | str, Describer] = {}


@dataclass(frozen=True, eq=False, repr=False)
class Whereabouts(Tabled):
    """Where a buffer's bytes lay at one moment. It keeps no view of them alive.

    memory   "file", "shared memory", "anonymous mapping", "heap" or "stack"; NOT_MEASURED without
             /proc ("heap" is everything from malloc, which maps big blocks apart; no mmap object of
             Python's owns those)
    address, size     of the lowest byte, and bytes up to the end of the highest element
    path, offset      the file, and how many bytes into it these begin; None if there is no file
    owners            the object, what it is a view of, and so on: (type, description); the last
                      owns the bytes
    writable, reason  can you write through this object, into these pages; and why not, or who sees
                      it
    states            the pages that hold the bytes; the first and last page may hold other bytes
                      too
    nbytes            of its elements alone: less than `size` if there are gaps, more if elements
                      share bytes
    layout            type, shape, order, and the strides if there are gaps; "" for plain bytes
    note              what its library says about it: "elements 10 to 20", or who else sees the
                      bytes
    """

    memory: str
    address: int
    size: int
    path: Path | None
    offset: Count
    owners: tuple[tuple[str, str], ...]
    writable: bool
    reason: str | None
    states: PageMap
    nbytes: Count = None
    layout: str = ""
    note: str = ""

    @property
    def pages(self) -> Count:
        """How many pages hold the bytes; None if not measured."""
        return None if self.states.states is None else len(self.states)

    @property
    def present(self) -> Count:
        """How many of these pages were in memory; None if not measured."""
        return self.states.present

    @property
    def file(self) -> str | None:
        """The file's name, with ", deleted" if it has been; None if there is no file."""
        return self.path and self.path.name + ", deleted" * self.states.region.deleted

    @property
    def place(self) -> str:
        """The memory; of a file its name and the first byte."""
        return (
            f"{self.memory}: {self.file}, from byte {self.offset:,}" if self.path else self.memory
        )

    @property
    def extent(self) -> str:
        """ "76.3 MiB"; of a view with gaps "76.3 MiB of elements, in 153 MiB"."""
        size = in_words(self.size, "bytes")
        return (
            size
            if self.nbytes in (None, self.size)
            else f"{in_words(self.nbytes, 'bytes')} of elements, in {size}"
        )

    @property
    def row(self) -> tuple[str, ...]:
        """Among the parts of something: what it is, its bytes, its memory, and its owner."""
        what = "; ".join(filter(None, (self.layout, self.note))) or "bytes"
        return what, self.extent, f"{self.place}, at {self.address:#x}", ": ".join(self.owners[-1])

    @property
    def title(self) -> str:
        return f"Where the bytes of this {self.owners[0][0]} lie"

    def table(self) -> Rows:
        states = self.states
        yes = "yes" if self.writable else "no"
        rows = [
            ("memory", self.place),
            ("layout", self.layout),
            ("bytes", f"{self.extent} at {self.address:#x}"),
            (
                "pages in memory",
                f"not here: {states.why}" if states.why else f"{self.present:,} of {self.pages:,}",
            ),
            *(
                (f"… {state.words}", f"{count:,}")
                for state, count in states.counts.items()
                if state
            ),
            ("writable", f"{yes}: {self.reason}" if self.reason else yes),
            *(
                ("owned by" if i else "object", f"{name}: {role}")
                for i, (name, role) in enumerate(self.owners)
            ),
            ("note", self.note),
        ]
        return ("property", "where"), [row for row in rows if row[1]]


class Parts(Tabled, dict):
    """What an object is made of, at one moment: by name, where the part lay, or a line that says
    what it is instead.
    """

    def __init__(self, kind: str, parts: Mapping[str, Whereabouts | str]):
        super().__init__(parts)
        self.title = f"Where the parts of this {kind} lie"

    def table(self) -> Rows:
        if all(isinstance(part, str) for part in self.values()):
            return ("part", "what it is"), [*self.items()]
        rows = [
            (name, at, NONE, NONE, NONE) if isinstance(at, str) else (name, *at.row)
            for name, at in self.items()
        ]
        return ("part", "what it is", "bytes", "memory", "owned by"), rows


def where(x: Any) -> Whereabouts | Parts:
    """Whose memory the bytes of `x` lie in. `x` is an array, memoryview, mapping, bytes, or
    anything with a buffer.

    What a library makes of several buffers gives its Parts, by name: a frame, an Arrow table, a
    sparse tensor. What lends no buffer (a dataset in a file, an image) gives lines that say what it
    holds instead, and what to ask. A type of your own is told in a function: `where.register`.

    Looking brings no page in, and copies nothing. TypeError if `x` has no buffer (a list's elements
    lie all over the heap), ValueError for a closed mapping or an empty buffer, which lies nowhere.
    """
    try:
        found = describer_of(x)(x)
        refused = None
    except (TypeError, ValueError) as error:
        refused = error.with_traceback(None)
    except Exception as error:  # anybody's code
        refused = ValueError(f"where this {type(x).__name__} lies is not known: {error}")
    if refused:
        refused.__context__ = x = None  # the error is kept as sys.last_value, and must not keep x
        raise refused
    parts = {}
    all_parts = parts_of(found)
    for name, part in islice(all_parts, MOST):
        twins = sum(other.split(" #")[0] == name for other in parts)
        parts[f"{name} #{twins + 1}" if twins else name] = part
    if next(all_parts, None):
        parts["…"] = (
            f"only the first {MOST} parts are shown: ask about a single column or chunk for the "
            "others"
        )
    if [*parts] == [""] and isinstance(parts[""], Whereabouts):
        return parts[""]
    named = {name or "values": part for name, part in parts.items()} or {"…": "it has no buffer"}
    return Parts(type(x).__name__, named)


def describes(*kinds: type | str) -> Callable[[Describer], Describer]:
    """Tells `where` what a type of your own is made of:

    @where.register(Picture)
    def parts(picture):
        yield "pixels", picture.pixels  # something with a buffer, or with parts of its own
        yield "palette", picture.palette, "shared by all pictures"  # a note, if there is more to
          say
        yield "thumbnail", "in the file; where(picture.thumbnail()) reads it"  # what it is instead

    A type that isn't imported for that is named by its library and its own name: "pandas.Series".
    """

    def keep(describer: Describer) -> Describer:
        DESCRIBERS.update(dict.fromkeys(kinds, describer))
        return describer

    return keep


where.register = describes


def describer_of(value: Any) -> Describer:
    """Of its class or the nearest base that has one, else `of_buffer`. No code of the class
    runs.
    """
    for kind in type(value).__mro__:
        name = f"{str(kind.__module__).partition('.')[0]}.{kind.__name__}"
        if describer := DESCRIBERS.get(kind) or DESCRIBERS.get(name):
            return describer
    return of_buffer


def parts_of(found: Any, name: str = "", note: str = "") -> Iterator[tuple[str, Whereabouts | str]]:
    """What a describer gives, and the parts of that, under their full names. What it raises becomes
    a line.
    """
    if isinstance(found, Whereabouts):
        found = replace(found, note="; ".join(filter(None, (found.note, note))))
    if isinstance(found, (Whereabouts, str)):
        yield name, found
        return
    try:
        for role, part, *more in found:
            try:
                part = part if isinstance(part, (Whereabouts, str)) else describer_of(part)(part)
            except (TypeError, ValueError) as error:
                part = str(error)
            yield from parts_of(
                part, ", ".join(filter(None, (name, role))), "; ".join(filter(None, (note, *more)))
            )
    except Exception as error:  # anybody's code
        yield name or "…", f"not known: {type(error).__name__}: {error}"


def of_buffer(x: Any) -> Whereabouts:
    """Where the bytes of anything with a buffer lie. Errors as for `where`."""
    try:
        address, size = extent(x)
    except TypeError:
        raise TypeError(
            f"{type(x).__name__} shows no bytes of its own: {_way_on(type(x))}"
        ) from None
    if (mapping := mapping_under(x)) is not None and mapping.closed:
        raise ValueError(
            f"the mapping under this {type(x).__name__} is closed: reading its bytes may end the "
            "process"
        )
    array = x if isinstance(x, np.ndarray) else memoryview(x)
    owners = tuple((type(owner).__name__, _role(owner)) for owner in way_to_owner(x))
    kind, writable = (
        (array.dtype.kind, array.flags.writeable) if array is x else ("", not array.readonly)
    )
    told = {"nbytes": array.nbytes, "layout": layout(array), "note": STRINGS * (kind == "T")}
    if kind == "O":
        distinct = f"{len(set(map(id, array.flat))):,} " * (array.size <= MOST_COUNTED)
        told["note"] = (
            f"{array.size:,} references to {distinct}objects, which lie all over the heap"
        )
    return at(address, size, owners, writable, mapping is not None, **told)


def at(
    address: int, size: int, owners: tuple, writable: bool, mapped: bool = False, **told: Any
) -> Whereabouts:
    """Where bytes at an address of this process lie. `mapped`: an mmap object of Python's owns
    them.
    """
    states = page_map(address=address, size=size)
    region = states.region
    if region is None:
        return Whereabouts(
            NOT_MEASURED, address, size, None, None, owners, writable, None, states, **told
        )
    memory = region.kind.replace("anonymous", "anonymous mapping" if mapped else "heap")
    path = None
    offset = None
    if memory in ("file", "shared memory") and not region.path.startswith(
        ("/dev/zero", "[", "/SYSV")
    ):
        path = Path(region.path.removesuffix(maps.DELETED))
        offset = region.offset + address - region.start
    mapping_too = region.permissions[1] == "w"
    if not writable:
        reason = "a read-only view" if mapping_too else "a read-only view of a read-only mapping"
    elif not mapping_too:
        reason = "the mapping is read-only"
    else:
        reason = (
            "everybody who maps it sees it"
            if region.shared
            else "into a page of this process alone"
        )
    return Whereabouts(
        memory,
        address,
        size,
        path,
        offset,
        owners,
        writable and mapping_too,
        reason,
        states,
        **told,
    )


def layout(array: np.ndarray | memoryview, kind: str = "") -> str:
    """ "float64 (4000, 3000), F order"; "" for plain bytes. `kind`, if it isn't as numpy
    would say.
    """
    lies = getattr(array, "flags", array)
    kind = kind or (array.dtype.name if isinstance(array, np.ndarray) else f"'{array.format}'")
    if (kind, array.ndim, lies.c_contiguous) == ("'B'", 1, True):
        return ""
    neither = f"neither C nor F order, strides {array.strides} bytes"
    return (
        f"{kind} {array.shape},"
        f" {'C order' if lies.c_contiguous else 'F order' if lies.f_contiguous else neither}"
    )


def _way_on(kind: type) -> str:
    """What to ask instead."""
    if issubclass(kind, (list, tuple, dict, set, frozenset)):
        return "its elements lie all over the heap; ask about an element"
    if issubclass(kind, str):
        return (
            "Python doesn't lend its characters; sys.getsizeof(x) is how many bytes they and their "
            "header take"
        )
    if hasattr(kind, "__array__"):
        return (
            "ask where(np.asarray(x)), and once more: if the address changes, each answer is about "
            "a copy"
        )
    return "ask about what it keeps, as where(x.data), or say what that is: help(where.register)"


def _role(owner: Any) -> str:
    if not isinstance(owner, (mmap.mmap, bytes, bytearray, memoryview, np.ndarray)):
        return "lends its bytes"
    size = in_words(owner.nbytes if hasattr(owner, "nbytes") else len(owner), "bytes")
    if isinstance(owner, mmap.mmap):
        return f"a mapping of {size}"
    if isinstance(owner, (bytes, bytearray)) or (
        isinstance(owner, np.ndarray) and owner.flags.owndata
    ):
        return f"owns its {size}"
    return f"a view of {size}" + " that no object owns" * (link_of(owner) is None)
