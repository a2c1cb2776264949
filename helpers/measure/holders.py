"""`who_holds(x)`: which Python objects keep a file mapped or open, or an object or its bytes, and under which names.

While any of them lives, a deleted file keeps its blocks, Windows refuses to delete it, and an array's memory stays.
"""

import mmap
import os
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

from ..owners import is_a, own_dict, way_to_owner
from ..units import in_words
from . import maps, opened, shown
from .chains import SHOWN, Roots, exactly, nameless, names, paths_to, together
from .tables import NONE, html_table, text_table

MOST_ROWS = 100
NAMELESS = (
    "no name was found: kept by C code, by a call in progress, deeper down than the search goes, or by a cycle that "
    "gc.collect() would free"
)
NO_OBJECT = "no Python object was found that says it has it: os.open() returned it, or a library keeps it in C"
UNSEEN = (
    "references that C code keeps to itself: in other libraries (such as the graph behind a PyTorch loss), and as "
    "addresses in ctypes"
)
NO_MAPS = (
    f"which file a mapping shows: {sys.platform} doesn't tell. Only np.memmap arrays are found, and mappings kept "
    "beside the file's `path` or `filename`"
)
PERHAPS = "perhaps: it doesn't tell which file it has open"
STAYS = "While it's open, Windows refuses to delete it, and elsewhere a deleted file keeps its blocks on the disk"
EVERYBODYS = (type(None), bool, int, float, complex)
PACKAGE = __name__.partition(".")[0] + "."


class Chain(NamedTuple):
    """A path to an object that holds what was asked for.

    what   the object: "ndarray of 4 MiB", "TensorFile", "FileIO, descriptor 12, opened read-only"
    name   how you reach it: "row", "Out[3]", "cache['a']", "model.weight"; "" if no name was found
    where  what has that name: "global of __main__", "local of load(), in the traceback of `sys.last_value`"
    """

    what: str
    name: str
    where: str


@dataclass(frozen=True)
class Holding:
    """Who holds a file or an object in this process, as text, so a Holding itself keeps nothing alive.

    summary  how much of the file is mapped, and whether it's open; or what the object is a view of
    mapped   bytes of this process's addresses that show the file; None without /proc, and for an object
    chains   a path to each holder
    notes    other processes that hold the file, as far as this user may know, and what the search can't see
    """

    summary: str
    mapped: int | None
    chains: tuple[Chain, ...]
    notes: tuple[str, ...]

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        rows = [(chain.what, chain.name or NONE, chain.where) for chain in self.chains]
        return ("what holds it", "name", "where"), rows or [("nothing was found", NONE, NONE)]

    def __repr__(self) -> str:
        return "\n".join([self.summary, text_table(*self.table()), *self.notes])

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        return f"{html_table(self.summary, *self.table())}<ul>{notes}</ul>"


def who_holds(x: Any) -> Holding:
    """Who holds a file, or an object, and the shortest chain of names to each holder.

    A str or PathLike is a file's path. Its holders show bytes of a mapping of the file, proc_pid_maps(5), have a
    descriptor of it, proc_pid_fd(5), or are a library's objects for it (h5py, sqlite3, pyarrow). A file that had this
    name and was deleted or replaced counts too; the file need not exist.
    The holders of any other object are those that refer to it; if it shows bytes (an array, bytes, a mapping, a tensor,
    an Arrow table), also whatever else shows bytes of the same owner.
    A chain begins at a global, a local of a function running in any thread, a context variable, or an exception being
    handled. It ends at the first of this package's own objects: a TensorFile is a single holder.

    A million objects take about two seconds; none of them is kept alive. TypeError for None and numbers, which Python
    shares.
    """
    if is_a(x, str) or hasattr(type(x), "__fspath__"):
        if not (path := os.fsdecode(x)):
            raise ValueError("'' is no path; write the path of a file")
        return _of_file(os.path.realpath(path))
    if is_a(x, EVERYBODYS):
        raise TypeError(f"{x!r} is a value that Python shares; write a file's path, or an object such as an array")
    return _of_object(x)


class File:
    """Does an object hold this file? It counts the descriptors that are accounted for."""

    def __init__(self, target: str):
        self.target = target
        self.regions, self.descriptors = _regions(target), opened.descriptors_of(target)
        self.spans = [(region.start, region.end) for region in self.regions or ()]
        self.showing, self.opening = exactly(*shown.kinds()), exactly(*opened.kinds())
        self.kinds = self.showing | self.opening
        self.claimed: set[int] = set()
        # Ids of those that have a descriptor each, and don't tell which.
        self.mappings: set[int] = set()
        self.silent: set[int] = set()

    def __call__(self, obj: Any) -> bool:
        kind = id(type(obj))
        return (kind in self.showing and self.shows(obj)) | (kind in self.opening and self.opens(obj))

    def shows(self, obj: Any) -> bool:
        shows = _within(self.spans, obj)
        if shows:
            self.mappings |= {id(step) for step in way_to_owner(obj) if is_a(step, mmap.mmap)}
        return shows

    def opens(self, obj: Any) -> bool:
        answers = opened.opened_by(obj)
        numbers = self.descriptors.keys() & answers
        self.claimed |= numbers
        if numbers:
            return True
        if not self.descriptors and self.regions is not None:
            return False
        by_name = self.target in (os.path.realpath(name) for name in answers if is_a(name, str) and name)
        if by_name:
            self.silent.add(id(obj))
        return by_name or opened.UNTOLD in answers

    @property
    def open(self) -> bool:
        """By more than its mappings."""
        return bool(self.claimed or self.silent) or len(self.descriptors) > len(self.mappings)

    def described(self, obj: Any) -> str:
        answers = opened.opened_by(obj)
        numbers = sorted(self.descriptors.keys() & answers)
        return ", ".join([shown.described(obj), *map(opened.how, numbers), *[PERHAPS] * (opened.UNTOLD in answers)])

    def unclaimed(self) -> list[Chain]:
        """The descriptors that no object accounts for."""
        numbers = sorted(self.descriptors.keys() - self.claimed)
        silent = len(self.mappings) + len(self.silent)
        if (more := len(numbers) - silent) <= 0:
            return []
        if silent:
            return [Chain(f"{more} of the descriptors {', '.join(map(str, numbers))}", "", NO_OBJECT)]
        return [Chain(opened.how(number), "", NO_OBJECT) for number in numbers]


class Object:
    """Is it this object, or what shows bytes of the same owner?"""

    def __init__(self, target: Any):
        self.first, *way = map(id, way_to_owner(target))  # ids: this must not hold it itself
        self.ids, self.spans = {self.first, *way}, shown.spans(target)
        self.showing = exactly(*shown.kinds()) if self.spans else set()
        self.kinds = self.showing.union(id(type(step)) for step in way_to_owner(target))

    def __call__(self, obj: Any) -> bool:
        return id(obj) in self.ids or (id(type(obj)) in self.showing and _within(self.spans, obj))

    def described(self, obj: Any) -> str:
        if id(obj) == self.first:
            return f"{shown.described(obj)}, itself"
        return f"{shown.described(obj)}, {'which it is a view of' if id(obj) in self.ids else 'which shows its bytes'}"


def _within(spans: list[tuple[int, int]], obj: Any) -> bool:
    return any(start <= address < end for address in shown.addresses(obj) for start, end in spans)


def _of_object(target: Any) -> Holding:
    sought = Object(target)
    chains, notes = _chains(sought, Roots.now(globals())), [f"Not seen: {UNSEEN}"]
    if path := maps.file_at(sought.spans[0][0] if sought.spans else 0):
        notes.insert(0, f"Its bytes are those of a file: who_holds({path!r}) finds all who hold that")
    owner = "".join(f", a view of {shown.described(step)}" for step in way_to_owner(target)[1:][-1:])
    return _holding(f"{shown.described(target)}{owner}", None, chains, notes)


def _of_file(target: str) -> Holding:
    file, roots, chains = File(target), Roots.now(globals()), []
    if file.regions is None:
        file.spans = _beside_the_name(roots, target)
    if file.regions or file.regions is None or file.descriptors:
        chains = _chains(file, roots)
    if not chains and file.regions is not None:
        file = File(target)  # the search may have set off the collector, which may have let go of the file
    if not (unclaimed := file.unclaimed()):
        chains = [chain for chain in chains if PERHAPS not in chain.what]
    notes = [STAYS] if file.open else []
    if file.regions and not chains:
        notes.append("Not seen: who has it mapped: no Python object was found that shows these addresses")
    if file.regions is None:
        notes += [f"Not seen: {NO_MAPS}", "Not seen: other processes", f"Not seen: {UNSEEN}"]
        mapped = None
    else:
        others, hidden = _elsewhere(target)
        notes = [*others, *notes, f"Not seen: {UNSEEN}", *hidden]
        mapped = sum(end - start for start, end in file.spans)
    return _holding(_summary(file, mapped), mapped, chains + unclaimed, notes)


def _summary(file: File, mapped: int | None) -> str:
    name = os.path.basename(file.target)
    if mapped is None:
        said = f"{name}: this system doesn't tell what is mapped" + ". It's open" * file.open
    elif mapped:
        said = f"{name}: {in_words(mapped, 'bytes')} mapped in this process" + ", and open too" * file.open
    elif file.open:
        numbers = ", ".join(map(str, sorted(file.descriptors)))
        said = f"{name} is open in this process, and not mapped; descriptors: {numbers}"
    else:
        said = f"{name} is neither mapped nor open in this process"
    deleted = {region.path == file.target + maps.DELETED for region in file.regions or ()}
    gone = any(deleted.union(file.descriptors.values()))
    return said + " (a file of this name, since deleted or replaced)" * gone


def _elsewhere(target: str) -> tuple[list[str], list[str]]:
    """Notes about other processes: those that hold the file, and how many may not be looked into."""
    mapping, hidden = maps.processes_that_map(target)
    opening, _ = opened.processes_that_open(target)
    which = {"Mapped by": mapping, "Open, and not mapped, in": {pid: opening[pid] for pid in opening.keys() - mapping}}
    notes = []
    for how, processes in which.items():
        if others := [f"{pid} ({program})" for pid, program in sorted(processes.items()) if pid != os.getpid()]:
            notes.append(f"{how} other processes too: {', '.join(others)}")
    return notes, [f"Not seen: processes that this user may not look into: {hidden}"] * bool(hidden)


def _holding(summary: str, mapped: int | None, chains: list[Chain], notes: list[str]) -> Holding:
    if more := len(chains[MOST_ROWS:]):
        notes = [*notes, f"Not shown: {more:,} more rows"]
    return Holding(summary, mapped, tuple(chains[:MOST_ROWS]), tuple(notes))


def _regions(target: str) -> list[maps.Region] | None:
    return maps.mappings_of(target) if os.path.exists("/proc/self/maps") else None


def _chains(sought: File | Object, roots: Roots) -> list[Chain]:
    paths, described = paths_to(roots, sought.kinds, sought), []
    alone = nameless(roots, sought.kinds, sought, paths)  # before names() makes dicts of attributes
    for path, more in together(paths, roots):
        # A chain ends at the first of this package's own objects, and leaves out what that keeps inside.
        own = next((i for i, obj in enumerate(path) if str(type(obj).__module__).startswith(PACKAGE)), len(path) - 1)
        last = own == len(path) - 1
        what = sought.described(path[-1]) if last else shown.described(path[own])
        what += f", and {more:,} more there" if more and last else ""
        described.append((id(path[-1]), path, [Chain(what, *named) for named in names(path[: own + 1], roots)]))
    shown_there = {key for key, _, some in described if any(chain.where == SHOWN for chain in some)}
    chains = []
    for key, path, some in described:
        # IPython's own objects let go of what a cell showed when `_` does.
        by_ipython = any(str(type(obj).__module__).startswith(("IPython.", "ipykernel.")) for obj in path)
        if key not in shown_there or not by_ipython:
            chains += some
    unnamed = Counter(
        (sought.described(obj), "".join(f"in a {type(one).__name__}; " for one in container) + NAMELESS)
        for *container, obj in alone
    )
    chains += [Chain(what + (f", {n:,} of them" if n > 1 else ""), "", where) for (what, where), n in unnamed.items()]
    return list(dict.fromkeys(chains))


def _beside_the_name(roots: Roots, target: str) -> list[tuple[int, int]]:
    """Where the system doesn't tell: the addresses of mappings that an object keeps beside the file's name."""
    spans = []
    for *_, container, mapping in paths_to(roots, exactly(mmap.mmap), lambda _: True):
        space = container if is_a(container, dict) else own_dict(container)
        kept = []
        for name in ("path", "filename"):
            with suppress(Exception):  # the attribute of that name can be anything
                kept.append(os.path.realpath(dict.get(space, name)))
        if target in kept:
            spans += shown.spans(mapping)
    return spans
