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
Spans = list[tuple[int, int]]


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

    mapped     bytes of this process's addresses that show the file; None without /proc
    deleted    is some of that a file of this name that has been deleted or replaced?
    chains     a path to each holder
    processes  other processes that map it, "4711 (python)", as far as this user may know
    unseen     what the search can't see
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
            return f"{name}: this system doesn't tell what is mapped"
        if not self.mapped:
            return f"{name} is not mapped in this process"
        gone = " (a file of this name, since deleted or replaced)" if self.deleted else ""
        return f"{name}: {in_words(self.mapped, 'bytes')} mapped in this process{gone}"

    @property
    def notes(self) -> list[str]:
        """Other processes, and what the search can't see."""
        others = [f"Mapped by other processes too: {', '.join(self.processes)}"] if self.processes else []
        return [*others, *(f"Not seen: {what}" for what in self.unseen)]

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Header and rows, as text: a row per holder."""
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
    regions, processes, hidden = _regions(target), {}, 0
    unseen = [UNSEEN]
    if regions is None:
        unseen = [NO_MAPS, "other processes", *unseen]
    else:
        processes, hidden = maps.processes_that_map(target)
    chains = _chains(target, regions) if regions or regions is None else []
    if regions and not chains:
        regions = _regions(target)  # the search may have set off the collector, which may have let go of the file
    if regions and not chains:
        unseen.insert(0, "who has it mapped: no Python object was found that shows these addresses")
    if hidden:
        unseen.append(f"processes that this user may not look into: {hidden}")
    mapped = None if regions is None else sum(region.end - region.start for region in regions)
    gone = any(region.path == target + maps.DELETED for region in regions or ())
    others = tuple(f"{pid} ({name})" for pid, name in processes.items() if pid != os.getpid())
    return Holding(target, mapped, gone, tuple(chains), others, tuple(unseen))


# --- which addresses -----------------------------------------------------------------------------------------
def _regions(target: str) -> list[maps.Region] | None:
    """The mappings of the file, or of a deleted file of that name; None without /proc."""
    return maps.mappings_of(target) if os.path.exists("/proc/self/maps") else None


# --- who looks at them ---------------------------------------------------------------------------------------
def _chains(target: str, regions: list[maps.Region] | None) -> list[Chain]:
    roots = Roots.now(own=(globals(), vars(reference_paths)))
    spans = _beside_the_name(roots, target) if regions is None else [(region.start, region.end) for region in regions]

    def wanted(obj: Any) -> bool:
        return any(_inside(under, spans) for under in way_to_owner(obj))

    kinds = reference_paths.exactly(np.ndarray, memoryview, mmap.mmap, *_tensors())
    paths = reference_paths.paths(roots, kinds, wanted)
    described = [(id(path[-1]), path, list(_described(path, roots, more))) for path, more in _together(paths, roots)]
    shown = {key for key, _, some in described if any(chain.where == SHOWN for chain in some)}
    chains = [chain for key, path, some in described if key not in shown or not _by_ipython(path) for chain in some]
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


def _by_ipython(path: list[Any]) -> bool:
    """Does the path lead through IPython's own objects? They let go of what a cell showed when `_` does."""
    return any(str(type(obj).__module__).startswith(("IPython.", "ipykernel.")) for obj in path)


def _described(path: list[Any], roots: Roots, more: int) -> Iterator[Chain]:
    """Ends each chain at the first of this package's own objects, and leaves out what that keeps inside."""
    own = next((i for i, obj in enumerate(path) if str(type(obj).__module__).startswith(PACKAGE)), len(path) - 1)
    what = _what(path[own]) + (f", and {more:,} more there" if more and own == len(path) - 1 else "")
    for name, where in reference_paths.names(path[: own + 1], roots):
        yield Chain(what, name, where)


def _tensors() -> tuple[type, ...]:
    """PyTorch's kind of tensor, if this program has imported PyTorch."""
    kind = getattr(sys.modules.get("torch"), "Tensor", None)
    return (kind,) if isinstance(kind, type) else ()


def _what(obj: Any) -> str:
    name = type(obj).__name__
    if is_a(obj, mmap.mmap):
        return f"mapping of {in_words(mmap.mmap.__len__(obj), 'bytes')}"
    size = next((kind.nbytes.__get__(obj) for kind in (np.ndarray, memoryview, *_tensors()) if is_a(obj, kind)), None)
    return name if size is None else f"{name} of {in_words(size, 'bytes')}"


def _inside(obj: Any, spans: Spans) -> bool:
    address = _address(obj)
    return address is not None and any(start <= address < end for start, end in spans)


def _address(obj: Any) -> int | None:
    """The address of its first element; None if it shows no bytes, or no longer does."""
    with suppress(Exception):  # an array can be a view of anything, and the exporter can be anybody's code
        if is_a(obj, _tensors()):
            return obj.data_ptr()
        array = obj if is_a(obj, np.ndarray) else np.frombuffer(obj, np.uint8)
        return np.ndarray.__array_interface__.__get__(array)["data"][0]
    return None


def _beside_the_name(roots: Roots, target: str) -> Spans:
    """Where the system doesn't tell: the addresses of mappings that an object keeps beside the file's name."""
    spans = []
    for *_, container, mapping in reference_paths.paths(roots, reference_paths.exactly(mmap.mmap), lambda _: True):
        space = container if is_a(container, dict) else own_dict(container)
        if any(_same(dict.get(space, name), target) for name in ("path", "filename")) and (start := _address(mapping)):
            spans.append((start, start + mmap.mmap.__len__(mapping)))
    return spans


def _same(name: Any, target: str) -> bool:
    with suppress(Exception):  # the attribute of that name can be anything
        return os.path.realpath(name) == target
    return False
