"""`who_holds(path)`: which Python objects look at a mapping of a file, and by which names they are kept.

While one of them is kept, the file stays mapped: a deleted one keeps its blocks, and Windows refuses to delete it.
"""

import gc
import mmap
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import psutil

from ..units import in_words
from . import chain_words, maps, referrers
from .tables import NONE, html_table, text_table

EACH, MOST = 3, 20  # so many are named one by one: of one container, and of all below one object
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
Found = tuple[Any, list[Any], int]  # what looks at the file, the way to it, and how many more there are like it


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
    had this name and was deleted or replaced. They are searched where the garbage collector knows containers, and in
    the locals of what runs in every thread. A chain begins at a global, a local or an exception on its way, and
    leads through tracebacks, generators, closures, defaults, attributes and items. What this package's own objects
    keep inside is not told: a TensorFile is one holder.

    The file need not exist. A million objects take about a second; none of them is kept.
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
    if frozen := gc.get_freeze_count():
        unseen.append(f"{frozen:,} objects that gc.freeze() has put aside")
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
    with referrers.Heap(referrers.Roots.now(ours=(globals(), vars(referrers)))) as heap:
        candidates = heap.all_of({memoryview, *_with_subclasses(np.ndarray), *_with_subclasses(mmap.mmap)})
        spans = _beside_the_name(heap, candidates, target) if regions is None else [(r.start, r.end) for r in regions]
        looking = {id(one): one for one in candidates if any(_inside(under, spans) for under in _owners(one))}
        return _named(heap, looking)


def _named(heap: referrers.Heap, looking: dict[int, Any]) -> list[Chain]:
    """What is in `looking` (by id) and has a name, or is in a container that has one; then what has none.

    What one of them keeps for another, an array its mapping, is no holder of its own.
    """
    kept: dict[int, list[Any]] = {}
    containers = {}
    for container, one in heap.referring(set(looking)):
        if id(container) not in looking and type(container).__name__ != "managedbuffer":
            containers[id(container)] = container
            kept.setdefault(id(container), []).append(one)
    ways = heap.ways(containers, lambda one: id(one) in looking)

    named = looking.keys() & heap.roots.named.keys()
    found = [(looking[key], [looking[key]], 0) for key in looking if key in named]
    alone = []
    for end, way in ways.items():
        there = list({id(one): one for one in kept[end]}.values())
        named |= {id(one) for one in there}
        more = len(there) - 1 if end not in heap.roots.namespaces and len(there) > EACH else 0
        alone += [(one, [*way, one], more) for one in (there[:1] if more else there)]
    found += _together(alone, heap.roots)
    described = [(id(one), _by_ipython(way), list(_described(way, heap.roots, more))) for one, way, more in found]
    shown = {key for key, _, them in described if any(chain.where == chain_words.SHOWN for chain in them)}
    chains = [one for key, inside, them in described if not (inside and key in shown) for one in them]
    known = named.union(id(under) for one in looking.values() for under in _owners(one)[1:])
    nameless = Counter(_what(one) for key, one in looking.items() if key not in known)
    chains += [Chain(what + (f", {n:,} of them" if n > 1 else ""), "", NAMELESS) for what, n in nameless.items()]
    return list(dict.fromkeys(chains))


def _together(found: list[Found], roots: referrers.Roots) -> list[Found]:
    """With more than MOST ways through one object, a list of pairs say, the first stands for all; else as they are."""
    for depth in range(max((len(way) for _, way, _ in found), default=0) - 2, -1, -1):
        through: dict[int, list[Found]] = {}
        for one in found:
            way = one[1]
            branches = len(way) > depth + 1 and id(way[depth]) not in roots.namespaces
            through.setdefault(id(way[depth] if branches else way), []).append(one)
        found = []
        for (first, way, more), *others in through.values():
            if len(others) < MOST:
                found += [(first, way, more), *others]
            else:
                found.append((first, way, more + sum(1 + other[2] for other in others)))
    return found


def _by_ipython(way: list[Any]) -> bool:
    """Through its own objects: what a cell showed has names there too, which go with `_`; not told beside it."""
    return any(str(type(one).__module__).startswith(("IPython.", "ipykernel.")) for one in way)


def _described(way: list[Any], roots: referrers.Roots, more: int = 0) -> Iterator[Chain]:
    """Of objects of this package only the outermost is told, not what it keeps inside."""
    own = next((i for i, one in enumerate(way) if str(type(one).__module__).startswith(PACKAGE)), len(way) - 1)
    what = _what(way[own]) + (f", and {more:,} more there" if more and own == len(way) - 1 else "")
    for name, where in chain_words.names(way[: own + 1], roots):
        yield Chain(what, name, where)


def _what(one: Any) -> str:
    if referrers.is_a(one, (np.ndarray, memoryview)):
        return f"{type(one).__name__} of {in_words(one.nbytes, 'bytes')}"
    return f"mapping of {in_words(len(one), 'bytes')}" if referrers.is_a(one, mmap.mmap) else type(one).__name__


def _with_subclasses(kind: type) -> Iterator[type]:
    yield kind
    for one in kind.__subclasses__():
        yield from _with_subclasses(one)


def _owners(one: Any) -> list[Any]:
    """It, what it is a view of, and so on."""
    chain = [one]
    while True:
        last, under = chain[-1], None
        with suppress(ValueError):  # a memoryview that was released
            if referrers.is_a(last, (np.ndarray, memoryview)):
                under = last.base if referrers.is_a(last, np.ndarray) else last.obj
        if under is None:
            return chain
        chain.append(under)


def _inside(one: Any, spans: Spans) -> bool:
    address = _address(one)
    return address is not None and any(start <= address < end for start, end in spans)


def _address(one: Any) -> int | None:
    """Of its first element; None where it shows no bytes (any more)."""
    with suppress(Exception):  # what an array is a view of may be anything, and its exporter anybody's code
        array = one if referrers.is_a(one, np.ndarray) else np.frombuffer(one, np.uint8)
        return array.__array_interface__["data"][0]
    return None


def _beside_the_name(heap: referrers.Heap, candidates: list[Any], target: str) -> Spans:
    """Where the system does not tell: the addresses of mappings that an object keeps beside the name of the file."""
    mappings = {id(one) for one in candidates if referrers.is_a(one, mmap.mmap)}
    spans = []
    for container, one in heap.referring(mappings):
        if any(_same(_valued(container, name), target) for name in ("path", "filename")) and (start := _address(one)):
            spans.append((start, start + len(one)))
    return spans


def _valued(container: Any, name: str) -> Any:
    """Not by its __dict__: that may be made only when asked for, and from then on it holds the values."""
    if issubclass(type(container), dict):
        return dict.get(container, name)
    with suppress(Exception):
        return object.__getattribute__(container, name)
    return None


def _same(name: Any, target: str) -> bool:
    with suppress(Exception):  # anybody's attribute of that name
        return os.path.realpath(name) == target
    return False
