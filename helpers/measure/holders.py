"""`who_holds(x)`: which Python objects keep a file mapped or open, or an object or its bytes, and
under which names.

While any of them lives, a deleted file keeps its blocks, Windows refuses to delete it, and an
array's memory stays.
"""

import gc
import mmap
import os
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from types import CellType, FunctionType, MethodType
from typing import Any, NamedTuple

from ..owners import is_a, own_dict, way_to_owner
from ..units import in_words
from . import maps, memory_of
from .chains import SHOWN, Roots, exactly, from_c, nameless, names, paths_to, together
from .tables import NONE, Rows, html_table, text_table

MOST_ROWS = 100
PATH_MAX = 4096  # path_resolution(7)
IN_C = (
    "no name was found: kept by C code (atexit, another registered callback) or by a call in "
    "progress"
)
IN_A_CYCLE = (
    "no name was found: kept by a cycle that gc.collect() would free, if no array of objects is in "
    "it and C code has no part of it; or deeper down than the search goes"
)
NO_OBJECT = (
    "no Python object was found that says it has it: os.open() returned it, or a library keeps it "
    "in C"
)
UNSEEN = (
    "references that C code keeps to itself: in other libraries (such as the graph behind a "
    "PyTorch loss), and as addresses in ctypes"
)
NO_MAPS = (
    f"which file a mapping shows: {sys.platform} doesn't tell. Only np.memmap arrays are found,"
    " and mappings kept beside the file's `path` or `filename`"
)
PERHAPS = "perhaps: it doesn't tell which file it has open"
STAYS = (
    "While it's open, Windows refuses to delete it, and elsewhere a deleted file keeps its blocks "
    "on the disk"
)
PACKAGE = __name__.partition(".")[0] + "."


class Chain(NamedTuple):
    """A path to an object that holds what was asked for.

    what   the object: "ndarray of 4 MiB", "TensorFile", "FileIO, descriptor 12"
    name   how you reach it: "row", "Out[3]", "cache['a']", "model.weight"; "" if no name was found
    where  what has that name: "global of __main__", "local of load(), in the traceback of
           `sys.last_value`"
    """

    what: str
    name: str
    where: str


@dataclass(frozen=True)
class Holding:
    """Who holds a file or an object in this process, as text, so a Holding itself keeps nothing
    alive.

    summary  how much of the file is mapped, and whether it's open; or what the object is a view of
    mapped   bytes of this process's addresses that show the file; None without /proc, and for an
             object
    chains   a path to each holder
    notes    other processes that hold the file, as far as this user may know, and what the search
             can't see
    """

    summary: str
    mapped: int | None
    chains: tuple[Chain, ...]
    notes: tuple[str, ...]

    def table(self) -> Rows:
        rows = [(chain.what, chain.name or NONE, chain.where) for chain in self.chains]
        return ("what holds it", "name", "where"), rows or [("nothing was found", NONE, NONE)]

    def __repr__(self) -> str:
        return "\n".join([self.summary, text_table(*self.table()), *self.notes])

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        return f"{html_table(self.summary, *self.table())}<ul>{notes}</ul>"


def who_holds(x: Any) -> Holding:
    """Who holds a file, or an object, and the shortest chain of names to each holder.

    A str or PathLike is a file's path, also of a file that was deleted or replaced. Its holders
    show bytes of a mapping of it, proc_pid_maps(5), or have a descriptor of it, proc_pid_fd(5), as
    objects of h5py, sqlite3 and pyarrow do. Any other object, also a str too long for a path or of
    a subclass, is held by those that refer to it, and by whatever else shows bytes of the same
    owner.

    A chain begins at a global, a local of a function running in any thread, a context variable, or
    an exception being handled. It ends at the first of this package's own objects: a TensorFile is
    a single holder.

    A million objects take about two seconds; none of them is kept alive. TypeError for what Python
    shares: None, 5.
    """
    if is_a(x, (type(None), int, float, complex)):
        raise TypeError(
            f"{type(x).__name__}s are shared by Python; write a file's path, or an object such as "
            "an array"
        )
    is_path = (type(x) is str and len(x) < PATH_MAX) or hasattr(type(x), "__fspath__")
    collects = gc.isenabled()
    if is_path and not os.fsdecode(x):
        raise ValueError("'' is no path; write the path of a file")
    # the search makes many objects, and a collection would let go of what is looked for
    gc.disable()
    try:
        summary, mapped, chains, notes = (
            _of_file(os.path.realpath(os.fsdecode(x))) if is_path else _of_object(x)
        )
    finally:
        if collects:
            gc.enable()
    if more := len(chains[MOST_ROWS:]):
        notes.append(f"Not shown: {more:,} more rows")
    return Holding(summary, mapped, tuple(chains[:MOST_ROWS]), tuple(notes))


class Object:
    """Is it this object, or what shows bytes of the same owner?"""

    def __init__(self, target: Any):
        self.first, *self.way = map(id, way_to_owner(target))  # ids: this must not hold it itself
        self.spans = next(filter(None, map(memory_of.spans, reversed(way_to_owner(target)))), [])
        self.kinds = exactly(*memory_of.kinds()) if self.spans else set()
        self.kinds |= {id(type(step)) for step in way_to_owner(target)}

    def __call__(self, obj: Any) -> bool:
        return id(obj) == self.first or id(obj) in self.way or _shows(obj, self.spans)

    def described(self, obj: Any) -> str:
        kept = "which it is a view of" if id(obj) in self.way else "which shows its bytes"
        return f"{memory_of.described(obj)}, {'itself' if id(obj) == self.first else kept}"


class File:
    """Does an object hold this file?"""

    def __init__(self, target: str):
        self.target, self.regions, self.descriptors = (
            target,
            _regions(target),
            maps.descriptors_of(target),
        )
        self.spans = [(region.start, region.end) for region in self.regions or ()]
        self.showing, self.opening = (
            exactly(*memory_of.kinds()),
            exactly(*(kind for kind, _ in memory_of.rules())),
        )
        self.kinds = self.showing | self.opening

    def __call__(self, obj: Any) -> bool:
        return bool(self.has_open(obj)) or (
            id(type(obj)) in self.showing and _shows(obj, self.spans)
        )

    def has_open(self, obj: Any) -> set[int | str]:
        """The file's descriptors that it has; or the file's path, or UNTOLD, if it doesn't tell
        which.
        """
        answers = memory_of.opened_by(obj) if id(type(obj)) in self.opening else ()
        if numbers := self.descriptors.keys() & answers:
            return numbers
        names = {name and os.path.realpath(name) for name in answers if is_a(name, str)}
        return (
            names & {self.target, memory_of.UNTOLD}
            if self.descriptors or self.regions is None
            else set()
        )

    def described(self, obj: Any) -> str:
        how = {self.target: "", memory_of.UNTOLD: f", {PERHAPS}"}
        return memory_of.described(obj) + "".join(
            how.get(has, f", descriptor {has}") for has in self.has_open(obj)
        )


def _shows(obj: Any, spans: list[tuple[int, int]]) -> bool:
    """Does it, or what it's a view of, show bytes at these addresses?"""
    own = (span for step in way_to_owner(obj) for span in memory_of.spans(step)) if spans else ()
    return any(low < end and start < high for low, high in own for start, end in spans)


def _of_object(target: Any) -> tuple[str, None, list[Chain], list[str]]:
    sought = Object(target)
    chains, _ = _chains(sought, Roots(globals()))
    notes = [f"Not seen: {UNSEEN}"]
    if sought.spans and (path := maps.file_at(sought.spans[0][0])):
        notes.insert(
            0, f"Its bytes are those of a file: who_holds({path!r}) finds all who hold that"
        )
    owner = "".join(
        f", a view of {memory_of.described(step)}" for step in way_to_owner(target)[1:][-1:]
    )
    return memory_of.described(target) + owner, None, chains, notes


def _of_file(target: str) -> tuple[str, int | None, list[Chain], list[str]]:
    file = File(target)
    roots = Roots(globals())
    chains = []
    held = []
    if file.regions is None:
        file.spans = _beside_the_name(roots, target)
    if file.regions or file.regions is None or file.descriptors:
        chains, held = _chains(file, roots)
    unclaimed, is_open = _descriptors(file, held)
    if not unclaimed:
        chains = [chain for chain in chains if PERHAPS not in chain.what]
    notes = [STAYS] * is_open
    unseen = [UNSEEN]
    if file.regions is None:
        mapped = None
        unseen = [NO_MAPS, "other processes", UNSEEN]
        said = ": this system doesn't tell what is mapped" + ". It's open" * is_open
    else:
        mapped = sum(region.end - region.start for region in file.regions)
        said = (
            f" is {'open' if is_open else 'neither mapped nor open'} in this process"
            + ", and not mapped" * is_open
        )
        if mapped:
            said = (
                f": {in_words(mapped, 'bytes')} mapped in this process" + ", and open too" * is_open
            )
            unseen[:0] = (
                []
                if chains
                else ["who has it mapped: no Python object was found that shows these addresses"]
            )
        others, hidden = _elsewhere(target)
        notes = others + notes
        unseen += [f"processes that this user may not look into: {hidden}"] * bool(hidden)
    deleted = target + maps.DELETED in (region.path for region in file.regions or ())
    said += " (a file of this name, since deleted or replaced)" * (
        deleted or any(file.descriptors.values())
    )
    if not (mapped or is_open or os.path.lexists(target)):
        notes = [f"There is no file {target}"]
    return (
        os.path.basename(target) + said,
        mapped,
        chains + unclaimed,
        notes + [f"Not seen: {one}" for one in unseen],
    )


def _descriptors(file: File, held: list[Any]) -> tuple[list[Chain], bool]:
    """The file's descriptors that no object accounts for; and does anything but a mapping
    have one?
    """
    has = [file.has_open(obj) for obj in held]
    claimed = file.descriptors.keys() & set().union(*has)
    silent = sum(file.target in one for one in has)
    # A mapping has a descriptor too, and doesn't tell which.
    mappings = len(
        {id(step) for obj in held for step in way_to_owner(obj) if is_a(step, mmap.mmap)}
    )
    left = sorted(file.descriptors.keys() - claimed)
    more = len(left) - mappings - silent
    numbers = ", ".join(map(str, left))
    what = f"descriptor {numbers}" if more == len(left) else f"{more} of the descriptors {numbers}"
    is_open = bool(claimed or silent) or len(file.descriptors) > mappings
    return [Chain(what, "", NO_OBJECT)] if more > 0 else [], is_open


def _elsewhere(target: str) -> tuple[list[str], int]:
    """Notes about other processes that hold the file, and how many may not be looked into."""
    mapping, hidden = maps.processes_that_map(target)
    opening, _ = maps.processes_that_map(target, maps.descriptors_of)
    which = {
        "Mapped by": mapping.items(),
        "Open, and not mapped, in": opening.items() - mapping.items(),
    }
    notes = []
    for how, processes in which.items():
        if others := [
            f"{pid} ({program})" for pid, program in sorted(processes) if pid != os.getpid()
        ]:
            notes.append(f"{how} other processes too: {', '.join(others)}")
    return notes, hidden


def _regions(target: str) -> list[maps.Region] | None:
    return maps.mappings_of(target) if os.path.exists("/proc/self/maps") else None


def _chains(sought: File | Object, roots: Roots) -> tuple[list[Chain], list[Any]]:
    """A row for each name of a holder, and the holders."""
    paths = paths_to(roots.all, sought.kinds, sought)
    # before names() makes dicts of attributes
    alone = nameless(roots.all, sought.kinds, sought, paths)
    rows = []
    for path, more in together(paths, roots):
        # A chain ends at the first of this package's own objects, and leaves out what that keeps
        # inside.
        own = next(
            (path[: at + 1] for at, obj in enumerate(path[:-1]) if _is_of(obj, PACKAGE)), path
        )
        others = f", and {more:,} more there" if more else ""
        what = sought.described(path[-1]) + others if own is path else memory_of.described(own[-1])
        rows += [(path, Chain(what, *named)) for named in names(own, roots)]
    shown_there = {id(path[-1]) for path, chain in rows if chain.where == SHOWN}
    chains = [
        chain
        for path, chain in rows  # IPython's own objects let go of what a cell showed when `_` does
        if id(path[-1]) not in shown_there
        or not any(_is_of(obj, "IPython.", "ipykernel.") for obj in path)
    ]
    unnamed = Counter((sought.described(path[-1]), _above(path, alone)) for path in alone)
    chains += [
        Chain(what + (f", {n:,} of them" if n > 1 else ""), "", where)
        for (what, where), n in unnamed.items()
    ]
    return list(dict.fromkeys(chains)), [path[-1] for path in (*paths, *alone)]


def _above(path: list[Any], ours: list[list[Any]]) -> str:
    """ "in one Workspace, in the method Workspace.close; no name was found: …" """
    way = from_c(path, ours)
    outermost, *_ = path = way or path
    containers = [
        f"in the {type(one).__name__} {one.__qualname__}"
        if is_a(one, (MethodType, FunctionType))
        else f"in one {type(one).__name__}"
        for one in reversed(path[:-1])
        if one is outermost or not is_a(one, (CellType, dict, tuple))
    ]
    return ", ".join(containers) + "; " * bool(containers) + (IN_C if way else IN_A_CYCLE)


def _is_of(obj: Any, *packages: str) -> bool:
    return str(type(obj).__module__).startswith(packages)


def _beside_the_name(roots: Roots, target: str) -> list[tuple[int, int]]:
    """Where the system doesn't tell: the addresses of mappings that an object keeps beside the
    file's name.
    """
    spans = []
    for *_, container, mapping in paths_to(roots.all, exactly(mmap.mmap), lambda _: True):
        space = container if is_a(container, dict) else own_dict(container)
        for name in ("path", "filename"):
            with suppress(Exception):  # the attribute of that name can be anything
                if os.path.realpath(dict.get(space, name)) == target:
                    spans += memory_of.spans(mapping)
    return spans
