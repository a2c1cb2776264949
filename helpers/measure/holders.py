"""`who_holds(path)`: which Python objects look at a mapping of a file, and which names keep them.

While any of them lives, the file stays mapped: a deleted file keeps its blocks, and Windows refuses to delete it.
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

from ..owners import is_a, own_dict, way_to_owner
from ..units import in_words
from . import maps, reference_paths
from .reference_paths import SHOWN, Roots
from .tables import NONE, html_table, text_table

MOST_NAMED = 20  # holders below a single object that are named one by one
AT_ONCE = 500  # containers in a single call of gc.get_referents()
NAMELESS = (
    "no name was found: kept by C code, by a call in progress, deeper down than the search goes, or by a cycle that "
    "gc.collect() would free"
)
UNSEEN = (
    "references that C code keeps to itself: in other libraries (such as the graph behind a PyTorch loss), in arrays "
    "of objects, as addresses in ctypes"
)
NO_MAPS = (
    f"which file a mapping shows: {sys.platform} doesn't tell. Only np.memmap arrays are found, and mappings kept "
    "beside the file's `path` or `filename`"
)
PACKAGE = __name__.partition(".")[0] + "."


@dataclass(frozen=True)
class Chain:
    """A path to an object that looks at the file; `str(chain)` says it in a line.

    what   the object: "ndarray of 4 MiB", "TensorFile"
    name   how you reach it: "row", "Out[3]", "cache['a']", "model.weight"; "" if no name was found
    where  what has that name: "global of __main__", "local of load(), in the traceback of `sys.last_value`"
    """

    what: str
    name: str
    where: str

    def __str__(self) -> str:
        return f"{self.what}: {f'`{self.name}`, ' * bool(self.name)}{self.where}"


@dataclass(frozen=True)
class Holding:
    """Who holds a file in this process, as text, so a Holding itself keeps nothing alive.

    summary  how much of the file is mapped, in a sentence
    mapped   bytes of this process's addresses that show the file; None without /proc
    chains   a path to each holder
    notes    other processes that map it, as far as this user may know, and what the search can't see
    """

    summary: str
    mapped: int | None
    chains: tuple[Chain, ...]
    notes: tuple[str, ...]

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        rows = [(chain.what, chain.name or NONE, chain.where) for chain in self.chains]
        return ("what looks at it", "name", "where"), rows or [("nothing was found", NONE, NONE)]

    def __repr__(self) -> str:
        return "\n".join([self.summary, text_table(*self.table()), *self.notes])

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        return f"{html_table(self.summary, *self.table())}<ul>{notes}</ul>"


def who_holds(path: str | os.PathLike) -> Holding:
    """Which objects of this process look at a mapping of the file, and the shortest chain of names to each.

    They are arrays, PyTorch's tensors, memoryviews and mappings whose bytes lie in a mapping of the file,
    proc_pid_maps(5), or of a file that had this name and was deleted or replaced. A chain begins at a global, a local
    of a function running in any thread, a context variable, or an exception being handled. It ends at the first of this
    package's own objects: a TensorFile is a single holder.

    The file need not exist. A million objects take about two seconds; none of them is kept alive.
    """
    target = os.path.realpath(path)
    name = os.path.basename(target)
    regions, notes = _regions(target), [f"Not seen: {UNSEEN}"]
    chains = _chains(target, regions) if regions or regions is None else []
    if regions and not chains:
        regions = _regions(target)  # the search may have set off the collector, which may have let go of the file
    if regions is None:
        notes = [f"Not seen: {NO_MAPS}", "Not seen: other processes", *notes]
        return Holding(f"{name}: this system doesn't tell what is mapped", None, tuple(chains), tuple(notes))
    if regions and not chains:
        notes.insert(0, "Not seen: who has it mapped: no Python object was found that shows these addresses")
    processes, hidden = maps.processes_that_map(target)
    if others := [f"{pid} ({program})" for pid, program in processes.items() if pid != os.getpid()]:
        notes.insert(0, f"Mapped by other processes too: {', '.join(others)}")
    if hidden:
        notes.append(f"Not seen: processes that this user may not look into: {hidden}")
    mapped = sum(region.end - region.start for region in regions)
    gone = any(region.path == target + maps.DELETED for region in regions)
    summary = (
        f"{name}: {in_words(mapped, 'bytes')} mapped in this process"
        if mapped
        else f"{name} is not mapped in this process"
    )
    summary += " (a file of this name, since deleted or replaced)" * gone
    return Holding(summary, mapped, tuple(chains), tuple(notes))


def _regions(target: str) -> list[maps.Region] | None:
    """The mappings of the file, or of a deleted file of that name; None without /proc."""
    return maps.mappings_of(target) if os.path.exists("/proc/self/maps") else None


def _chains(target: str, regions: list[maps.Region] | None) -> list[Chain]:
    roots = Roots.now(own=(globals(), vars(reference_paths)))
    spans = _beside_the_name(roots, target) if regions is None else [(region.start, region.end) for region in regions]

    def wanted(obj: Any) -> bool:
        addresses = filter(None, map(_address, way_to_owner(obj)))
        return any(start <= address < end for address in addresses for start, end in spans)

    kinds = reference_paths.exactly(np.ndarray, memoryview, mmap.mmap, *_tensors())
    paths = reference_paths.paths(roots, kinds, wanted)
    described = [(id(path[-1]), path, list(_described(path, roots, more))) for path, more in _together(paths, roots)]
    shown = {key for key, _, some in described if any(chain.where == SHOWN for chain in some)}
    chains = []
    for key, path, some in described:
        # IPython's own objects let go of what a cell showed when `_` does.
        by_ipython = any(str(type(obj).__module__).startswith(("IPython.", "ipykernel.")) for obj in path)
        if key not in shown or not by_ipython:
            chains += some
    nameless = Counter(_what(obj) for obj in _nameless(kinds, wanted, [path[-1] for path in paths]))
    chains += [Chain(what + (f", {n:,} of them" if n > 1 else ""), "", NAMELESS) for what, n in nameless.items()]
    return list(dict.fromkeys(chains))


def _nameless(kinds: set[int], wanted: Callable[[Any], bool], named: list[Any]) -> list[Any]:
    """The other wanted objects. An object that a holder keeps (an array's mapping) isn't a holder itself."""
    tracked, more = gc.get_objects(), {}
    for at in range(0, len(tracked), AT_ONCE):
        some = tracked[at : at + AT_ONCE]
        more |= {id(obj): obj for obj in some + gc.get_referents(*some) if id(type(obj)) in kinds and wanted(obj)}
    known = {id(obj) for obj in named}.union(*(map(id, way_to_owner(obj)[1:]) for obj in (*named, *more.values())))
    return [obj for key, obj in more.items() if key not in known]


def _together(paths: list[list[Any]], roots: Roots) -> list[tuple[list[Any], int]]:
    """Each path, and how many more it stands for: if more than MOST_NAMED go through an object (a list), the first."""
    through = Counter(id(obj) for path in paths for obj in path[:-1] if id(obj) not in roots.spaces)
    together: dict[int, list[list[Any]]] = {}
    for path in paths:
        crowded = (id(obj) for obj in reversed(path[:-1]) if through[id(obj)] > MOST_NAMED)
        together.setdefault(next(crowded, id(path)), []).append(path)
    return [(first, len(others)) for first, *others in together.values()]


def _described(path: list[Any], roots: Roots, more: int) -> Iterator[Chain]:
    """Ends each chain at the first of this package's own objects, and leaves out what that keeps inside."""
    own = next((i for i, obj in enumerate(path) if str(type(obj).__module__).startswith(PACKAGE)), len(path) - 1)
    what = _what(path[own]) + (f", and {more:,} more there" if more and own == len(path) - 1 else "")
    for name, where in reference_paths.names(path[: own + 1], roots):
        yield Chain(what, name, where)


def _tensors() -> tuple[type, ...]:
    kind = getattr(sys.modules.get("torch"), "Tensor", None)
    return (kind,) if isinstance(kind, type) else ()


def _what(obj: Any) -> str:
    name = type(obj).__name__
    if is_a(obj, mmap.mmap):
        return f"mapping of {in_words(mmap.mmap.__len__(obj), 'bytes')}"
    size = next((kind.nbytes.__get__(obj) for kind in (np.ndarray, memoryview, *_tensors()) if is_a(obj, kind)), None)
    return name if size is None else f"{name} of {in_words(size, 'bytes')}"


def _address(obj: Any) -> int | None:
    """The address of its first element; None if it shows no bytes, or no longer does."""
    with suppress(Exception):  # an array can be a view of anything, and the exporter can be anybody's code
        if is_a(obj, _tensors()):
            return obj.data_ptr()
        array = obj if is_a(obj, np.ndarray) else np.frombuffer(obj, np.uint8)
        return np.ndarray.__array_interface__.__get__(array)["data"][0]
    return None


def _beside_the_name(roots: Roots, target: str) -> list[tuple[int, int]]:
    """Where the system doesn't tell: the addresses of mappings that an object keeps beside the file's name."""
    spans = []
    for *_, container, mapping in reference_paths.paths(roots, reference_paths.exactly(mmap.mmap), lambda _: True):
        space = container if is_a(container, dict) else own_dict(container)
        names = []
        for name in ("path", "filename"):
            with suppress(Exception):  # the attribute of that name can be anything
                names.append(os.path.realpath(dict.get(space, name)))
        if target in names and (start := _address(mapping)):
            spans.append((start, start + mmap.mmap.__len__(mapping)))
    return spans
