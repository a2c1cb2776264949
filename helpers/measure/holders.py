"""`who_holds(path)`: which Python objects look at a mapping of a file, and by which names they are kept.

While one of them is kept, the file stays mapped: a deleted one keeps its blocks, and Windows refuses to delete it.
"""

import gc
import mmap
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import psutil

from ..owners import is_a, own_dict, way_to_owner
from ..units import in_words
from . import maps, ways
from .tables import NONE, html_table, text_table

MOST = 20  # so many are named one by one of all below one object
AT_ONCE = 500  # containers that are asked in one call what they refer to
NAMELESS = (
    "no name was found: kept by C code, by a call in progress, deeper down than was searched, or by a cycle that "
    "gc.collect() would free"
)
UNSEEN = "references that C code keeps to itself: of other libraries, in arrays of objects, addresses in ctypes"
NO_MAPS = (
    f"which file a mapping shows: {sys.platform} does not tell. Found are np.memmap, and mappings kept beside the "
    "file's `path` or `filename`"
)
PACKAGE = __name__.partition(".")[0] + "."
Spans = list[tuple[int, int]]


@dataclass(frozen=True)
class Chain:
    """One way to an object that looks at the file; `str(chain)` says it in words.

    what   the object: "ndarray of 4 MiB", "TensorFile"
    name   how it is reached: "row", "Out[3]", "cache['a']", "model.weight"; "" where no name was found
    where  who has that name: "global of __main__", "local of load(), in the traceback of `sys.last_value`"
    """

    what: str
    name: str
    where: str

    def __str__(self) -> str:
        return f"{self.what}: {f'`{self.name}`, ' * bool(self.name)}{self.where}"


@dataclass(frozen=True)
class Holding:
    """Who holds a file in this process, in words: this keeps nothing alive itself.

    mapped     bytes of this process's addresses that show the file; None where the system does not tell (no /proc)
    deleted    is some of that a file of this name that was deleted, or replaced by another?
    chains     a way to each holder
    processes  others that map it too, "4711 (python)", as far as this user may know
    unseen     what this cannot see
    """

    path: str
    mapped: int | None
    deleted: bool
    chains: tuple[Chain, ...]
    processes: tuple[str, ...]
    unseen: tuple[str, ...]

    @property
    def summary(self) -> str:
        """How much of the file is mapped, in a sentence."""
        name = os.path.basename(self.path)
        if self.mapped is None:
            return f"{name}: this system does not tell what is mapped"
        if not self.mapped:
            return f"{name} is not mapped in this process"
        gone = " (of that name, but deleted or replaced since)" if self.deleted else ""
        return f"{name}: {in_words(self.mapped, 'bytes')} mapped in this process{gone}"

    @property
    def notes(self) -> list[str]:
        """Other processes, and what was not seen."""
        others = [f"Mapped by other processes too: {', '.join(self.processes)}"] if self.processes else []
        return [*others, *(f"Not seen: {words}" for words in self.unseen)]

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Header and rows, in words: a row a holder."""
        rows = [(chain.what, chain.name or NONE, chain.where) for chain in self.chains]
        return ("what looks at it", "name", "where"), rows or [("nobody was found", NONE, NONE)]

    def __repr__(self) -> str:
        return "\n".join([self.summary, text_table(*self.table()), *self.notes])

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        return f"{html_table(self.summary, *self.table())}<ul>{notes}</ul>"


def who_holds(path: str | os.PathLike) -> Holding:
    """Which objects of this process look at a mapping of the file, and the shortest chain of names to each.

    They are arrays, memoryviews and mappings whose bytes lie in a mapping of the file, proc_pid_maps(5), or of one that
    had this name and was deleted or replaced. A chain begins at a global, at a local of what runs in any thread, at a
    context variable or an exception on its way, and leads through tracebacks, generators, closures, defaults,
    attributes and items. What this package's own objects keep inside is not told: a TensorFile is one holder.

    The file need not exist. A million objects take about two seconds; none of them is kept.
    """
    target = os.path.realpath(path)
    regions, others, foreign = _regions(target), [], 0
    unseen = [UNSEEN]
    if regions is None:
        unseen = [NO_MAPS, "other processes", *unseen]
    else:
        others, foreign = _others(target)
    chains = _chains(target, regions) if regions or regions is None else []
    if regions and not chains:
        regions = _regions(target)  # the search may have set off the collector, and that has let go of it
    if regions and not chains:
        unseen.insert(0, "who has it mapped: no Python object that was found shows these addresses")
    if foreign:
        unseen.append(f"processes that this user may not ask: {foreign}")
    mapped = None if regions is None else sum(one.end - one.start for one in regions)
    gone = any(one.path == target + maps.DELETED for one in regions or ())
    return Holding(target, mapped, gone, tuple(chains), tuple(others), tuple(unseen))


# --- which addresses -----------------------------------------------------------------------------------------
def _regions(target: str, pid: int | str = "self") -> list[maps.Region] | None:
    """The mappings of the file, also under a name that is gone; None without /proc."""
    if not os.path.exists("/proc/self/maps"):
        return None
    same = None
    with suppress(OSError):
        status = os.stat(target)
        same = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}", status.st_ino  # links have other names
    names = (target, target + maps.DELETED)
    return [one for one in maps.regions(pid) if one.path in names or (one.device, one.inode) == same]


def _others(target: str) -> tuple[list[str], int]:
    """Other processes that map the file, and how many could not be asked."""
    found, foreign = [], 0
    for process in psutil.process_iter(["name"]):
        if process.pid != os.getpid():
            try:
                if _regions(target, process.pid):
                    found.append(f"{process.pid} ({process.info['name']})")
            except ProcessLookupError:  # it has ended, or is a thread of the kernel's
                pass
            except PermissionError:
                foreign += 1
    return found, foreign


# --- who looks at them ---------------------------------------------------------------------------------------
def _chains(target: str, regions: list[maps.Region] | None) -> list[Chain]:
    roots = ways.Roots.now(ours=(globals(), vars(ways)))
    spans = _beside_the_name(roots, target) if regions is None else [(one.start, one.end) for one in regions]

    def wanted(one: Any) -> bool:
        return any(_inside(under, spans) for under in way_to_owner(one))

    kinds = ways.exactly(np.ndarray, memoryview, mmap.mmap)
    found = ways.ways(roots, kinds, wanted)
    described = [(id(way[-1]), way, list(_described(way, roots, more))) for way, more in _together(found, roots)]
    shown = {key for key, _, them in described if any(chain.where == ways.SHOWN for chain in them)}
    chains = [one for key, way, them in described if key not in shown or not _by_ipython(way) for one in them]
    nameless = Counter(_what(one) for one in _nameless(kinds, wanted, [way[-1] for way in found]))
    chains += [Chain(what + (f", {n:,} of them" if n > 1 else ""), "", NAMELESS) for what, n in nameless.items()]
    return list(dict.fromkeys(chains))


def _nameless(kinds: set[int], wanted: Callable[[Any], bool], found: list[Any]) -> list[Any]:
    """What else is wanted. What one keeps for another, an array its mapping, is no holder of its own."""
    tracked, more = gc.get_objects(), {}
    for at in range(0, len(tracked), AT_ONCE):
        some = tracked[at : at + AT_ONCE]
        more |= {id(one): one for one in some + gc.get_referents(*some) if id(type(one)) in kinds and wanted(one)}
    known = {id(one) for one in found}.union(*(map(id, way_to_owner(one)[1:]) for one in (*found, *more.values())))
    return [one for key, one in more.items() if key not in known]


def _together(found: list[list[Any]], roots: ways.Roots) -> list[tuple[list[Any], int]]:
    """Each way, and how many more it stands for: of more than MOST through one object, a list say, the first does."""
    through = Counter(id(one) for way in found for one in way[:-1] if id(one) not in roots.spaces)
    together: dict[int, list[list[Any]]] = {}
    for way in found:
        crowded = (id(one) for one in reversed(way[:-1]) if through[id(one)] > MOST)
        together.setdefault(next(crowded, id(way)), []).append(way)
    return [(first, len(others)) for first, *others in together.values()]


def _by_ipython(way: list[Any]) -> bool:
    """Through its own objects: what a cell showed has names there too, which go with `_`; not told beside it."""
    return any(str(type(one).__module__).startswith(("IPython.", "ipykernel.")) for one in way)


def _described(way: list[Any], roots: ways.Roots, more: int) -> Iterator[Chain]:
    """Of objects of this package only the outermost is told, not what it keeps inside."""
    own = next((i for i, one in enumerate(way) if str(type(one).__module__).startswith(PACKAGE)), len(way) - 1)
    what = _what(way[own]) + (f", and {more:,} more there" if more and own == len(way) - 1 else "")
    for name, where in ways.names(way[: own + 1], roots):
        yield Chain(what, name, where)


def _what(one: Any) -> str:
    name = type(one).__name__
    if is_a(one, mmap.mmap):
        return f"mapping of {in_words(mmap.mmap.__len__(one), 'bytes')}"
    size = next((kind.nbytes.__get__(one) for kind in (np.ndarray, memoryview) if is_a(one, kind)), None)
    return name if size is None else f"{name} of {in_words(size, 'bytes')}"


def _inside(one: Any, spans: Spans) -> bool:
    address = _address(one)
    return address is not None and any(start <= address < end for start, end in spans)


def _address(one: Any) -> int | None:
    """Of its first element; None where it shows no bytes (any more)."""
    with suppress(Exception):  # what an array is a view of may be anything, and its exporter anybody's code
        array = one if is_a(one, np.ndarray) else np.frombuffer(one, np.uint8)
        return np.ndarray.__array_interface__.__get__(array)["data"][0]
    return None


def _beside_the_name(roots: ways.Roots, target: str) -> Spans:
    """Where the system does not tell: the addresses of mappings that an object keeps beside the name of the file."""
    spans = []
    for *_, container, one in ways.ways(roots, ways.exactly(mmap.mmap), lambda _: True):
        kept = container if is_a(container, dict) else own_dict(container)
        if any(_same(dict.get(kept, name), target) for name in ("path", "filename")) and (start := _address(one)):
            spans.append((start, start + mmap.mmap.__len__(one)))
    return spans


def _same(name: Any, target: str) -> bool:
    with suppress(Exception):  # anybody's attribute of that name
        return os.path.realpath(name) == target
    return False
