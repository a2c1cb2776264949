"""`who_holds(path)`: which Python objects look at a mapping of a file, and which names keep them.

While any of them lives, the file stays mapped: a deleted file keeps its blocks, and Windows refuses to delete it.
"""

import contextvars
import gc
import inspect
import mmap
import os
import re
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from html import escape
from types import AsyncGeneratorType, CoroutineType, FrameType, FunctionType, GeneratorType, ModuleType, TracebackType
from typing import Any, NamedTuple

import numpy as np

from ..owners import is_a, own_dict, way_to_owner
from ..units import in_words
from . import maps
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
DEPTH = 10  # containers in containers, from a name down to an object
LONGEST_KEY = 40  # characters
SHOWN = "what a cell showed, kept by IPython"
SHOWN_NAME = re.compile("_+|_[0-9]+")
SUSPENDED = {GeneratorType: ("generator", "gi_frame"), CoroutineType: ("coroutine", "cr_frame"),
             AsyncGeneratorType: ("asynchronous generator", "ag_frame")}  # fmt: skip
ITEM, ATTRIBUTE, INSIDE = "item", "attribute", "inside"
# References to a frame's dict of locals: the frame's, our name for it, and the argument of sys.getrefcount().
NOBODY_ELSE = 3
PACKAGE = __name__.partition(".")[0] + "."


class Chain(NamedTuple):
    """A path to an object that looks at the file.

    what   the object: "ndarray of 4 MiB", "TensorFile"
    name   how you reach it: "row", "Out[3]", "cache['a']", "model.weight"; "" if no name was found
    where  what has that name: "global of __main__", "local of load(), in the traceback of `sys.last_value`"
    """

    what: str
    name: str
    where: str


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


class Named(NamedTuple):
    """`name` is a Python expression if there is one; `where` says what has that name."""

    name: str
    where: str

    def __str__(self) -> str:
        return f"`{self.name}`" + (f", {self.where}" if self.where and not self.where.startswith("global") else "")


@dataclass
class Roots:
    """Where a search begins: the dicts and objects that names are bound to.

    spaces  id of a dict of globals -> the module's name
    named   id of an object -> its names: a local of a running function, a context variable, an exception being handled
    all     the dicts and the objects
    """

    spaces: dict[int, str] = field(default_factory=dict)
    named: dict[int, list[Named]] = field(default_factory=dict)
    all: list[Any] = field(default_factory=list)

    @classmethod
    def now(cls) -> "Roots":
        """In every thread, as it stands. This module's own functions don't count, and no frame is kept."""
        roots = cls()
        modules = [(name, own_dict(module)) for name, module in list(sys.modules.items()) if is_a(module, ModuleType)]
        for name, space in sorted(modules, key=lambda module: module[0] != "__main__"):
            roots._add_names_of(space, name)
        for variable, value in contextvars.copy_context().items():
            roots._add(value, variable.name, "value of a context variable")
        threads = {thread.ident: f", in the thread {thread.name}" for thread in threading.enumerate()}
        threads[threading.get_ident()] = ""
        for ident, frame in sys._current_frames().items():
            thread = threads.get(ident, f", in the thread {ident}")
            while frame is not None:
                space = frame.f_globals
                if space is not globals():
                    roots._add_names_of(space, str(space.get("__name__", "a namespace with no name")))
                    if frame.f_locals is not space:
                        for name, value in local_names(frame).items():
                            roots._add(value, name, f"local of {frame.f_code.co_qualname}(){thread}")
                frame = frame.f_back
        for ident, caught in sys._current_exceptions().items():
            caught = caught[1] if isinstance(caught, tuple) else caught  # (type, value, traceback) before Python 3.12
            if caught is not None:
                thread = threads.get(ident, f", in the thread {ident}")
                roots._add(caught, type(caught).__name__, f"the exception being handled{thread}")
        return roots

    def _add_names_of(self, space: dict, module: str) -> None:
        if id(space) not in self.spaces:
            self.spaces[id(space)] = module
            self.all.append(space)

    def _add(self, value: Any, name: str, where: str) -> None:
        self.named.setdefault(id(value), []).append(Named(name, where))
        self.all.append(value)


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
    how_much = f": {in_words(mapped, 'bytes')}" if mapped else " is not"
    summary = f"{name}{how_much} mapped in this process"
    summary += " (a file of this name, since deleted or replaced)" * gone
    return Holding(summary, mapped, tuple(chains), tuple(notes))


def _regions(target: str) -> list[maps.Region] | None:
    return maps.mappings_of(target) if os.path.exists("/proc/self/maps") else None


def _chains(target: str, regions: list[maps.Region] | None) -> list[Chain]:
    roots = Roots.now()
    spans = _beside_the_name(roots, target) if regions is None else [(region.start, region.end) for region in regions]

    def wanted(obj: Any) -> bool:
        addresses = filter(None, map(_address, way_to_owner(obj)))
        return any(start <= address < end for address in addresses for start, end in spans)

    kinds = exactly(np.ndarray, memoryview, mmap.mmap, *_tensors())
    paths = paths_to(roots, kinds, wanted)
    described = []
    for path, more in _together(paths, roots):
        # A chain ends at the first of this package's own objects, and leaves out what that keeps inside.
        own = next((i for i, obj in enumerate(path) if str(type(obj).__module__).startswith(PACKAGE)), len(path) - 1)
        what = _what(path[own]) + (f", and {more:,} more there" if more and own == len(path) - 1 else "")
        described.append((id(path[-1]), path, [Chain(what, *named) for named in names(path[: own + 1], roots)]))
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
    already = {id(obj) for obj in named}.union(*(map(id, way_to_owner(obj)[1:]) for obj in (*named, *more.values())))
    return [obj for key, obj in more.items() if key not in already]


def _together(paths: list[list[Any]], roots: Roots) -> list[tuple[list[Any], int]]:
    """Each path, and how many more it stands for: if more than MOST_NAMED go through an object (a list), the first."""
    through = Counter(id(obj) for path in paths for obj in path[:-1] if id(obj) not in roots.spaces)
    together: dict[int, list[list[Any]]] = {}
    for path in paths:
        crowded = (id(obj) for obj in reversed(path[:-1]) if through[id(obj)] > MOST_NAMED)
        together.setdefault(next(crowded, id(path)), []).append(path)
    return [(first, len(others)) for first, *others in together.values()]


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
    for *_, container, mapping in paths_to(roots, exactly(mmap.mmap), lambda _: True):
        space = container if is_a(container, dict) else own_dict(container)
        names = []
        for name in ("path", "filename"):
            with suppress(Exception):  # the attribute of that name can be anything
                names.append(os.path.realpath(dict.get(space, name)))
        if target in names and (start := _address(mapping)):
            spans.append((start, start + mmap.mmap.__len__(mapping)))
    return spans


# --- the paths from names to objects, and their text ---------------------------------------------------------
def local_names(frame: FrameType) -> dict[str, Any]:
    """A frame's locals, by name. Nothing stays behind.

    Before Python 3.13 (PEP 667), f_locals of a function is a copy that the frame keeps, along with every value. So this
    empties it again, unless somebody else has it: locals() returns that same dict. Under a debugger it's left alone,
    because the interpreter copies it back into the locals.
    """
    space = frame.f_locals
    names = dict(space)
    is_copy = is_a(space, dict) and frame.f_code.co_flags & inspect.CO_OPTIMIZED
    traced = frame.f_trace or sys.gettrace() or sys.getprofile() or threading.gettrace() or threading.getprofile()
    if is_copy and not traced and sys.getrefcount(space) == NOBODY_ELSE:
        space.clear()
    return names


def paths_to(roots: Roots, kinds: set[int], wanted: Callable[[Any], bool]) -> list[list[Any]]:
    """For each wanted object of these kinds, the shortest path to each container of it: [root, …, the object].

    It follows what the garbage collector sees, gc.get_referents(), in the order of the names. No path leads through a
    wanted object or is longer than DEPTH containers. While the search runs, it keeps everything it has seen alive.
    """
    parent, level, seen = {id(root): None for root in roots.all}, roots.all, []  # id -> what led there
    goals = {id(root) for root in roots.all if id(type(root)) in kinds and wanted(root)}
    results = [[root] for root in roots.all if id(root) in goals]
    containers = {id(dict), id(tuple), *kinds}  # the collector doesn't track all of these
    for _ in range(1 + DEPTH):
        seen.append(level)
        level = []
        for obj in seen[-1]:
            if id(obj) in goals:
                continue
            referents = gc.get_referents(obj)
            if type(obj) is list or type(obj) is tuple:  # they list the last first
                referents.reverse()
            for to in referents:
                key = id(to)
                if key not in parent and (gc.is_tracked(to) or id(type(to)) in containers):
                    parent[key] = obj
                    level.append(to)
                    if id(type(to)) in kinds and wanted(to):
                        goals.add(key)
                if key in goals:
                    results.append([obj, to])
    for path in results:
        while (before := parent[id(path[0])]) is not None:
            path.insert(0, before)
    order = {key: at for at, key in enumerate(parent)}
    distinct = {tuple(map(id, path)): path for path in results}
    return [distinct[key] for key in sorted(distinct, key=lambda key: [order[step] for step in key])]


def exactly(*kinds: type) -> set[int]:
    """The ids of these types and all their subclasses. Ids, because a metaclass may define its own __eq__."""
    return {id(kind) for kind in kinds}.union(*(exactly(*type.__subclasses__(kind)) for kind in kinds))


def names(path: Sequence[Any], roots: Roots) -> list[Named]:
    for at, obj in enumerate(path):
        if "InteractiveShell" in (kind.__name__ for kind in type(obj).__mro__):
            return [_along(Named("get_ipython()", "kept by IPython"), path[at:])]
    at = int(id(path[0]) in roots.spaces)
    named = _globals(path[0], roots.spaces[id(path[0])], path[1]) if at else roots.named[id(path[0])]
    if len(path) == at + 1:
        return named
    return [_along(next((each for each in named if not each.name.startswith("_")), named[0]), path[at:])]


def _globals(space: dict, module: str, value: Any) -> list[Named]:
    keys = [key if is_a(key, str) else f"globals()[{_key(key)}]" for key, bound in _items(space) if bound is value]
    keys = keys or ["?"]  # the name may have gone meanwhile
    if module != "__main__":
        return [Named(f"{module}.{key}", "global") for key in keys]
    if "_oh" in space and value is space["_oh"]:
        return [Named("Out", SHOWN)]
    shown = {key for key in keys if "_oh" in space and SHOWN_NAME.fullmatch(key)}
    return [Named(key, SHOWN if key in shown else "global of __main__") for key in keys]


def _along(named: Named, path: Sequence[Any]) -> Named:
    while len(path) > 1:
        ahead = {id(obj): at for at, obj in enumerate(path) if at}
        kind, key, part = next((part for part in _parts(path[0]) if id(part[2]) in ahead), (INSIDE, None, path[1]))
        if kind == INSIDE:
            named = named._replace(where=f"inside this {type(path[0]).__name__}; {named.where}")
        elif kind in (ITEM, ATTRIBUTE):
            named = named._replace(name=named.name + (f"[{_key(key)}]" if kind == ITEM else f".{key}"))
        else:
            named = Named(key, f"{kind} {named}")
        path = path[ahead[id(part)] :]
    return named


def _parts(obj: Any) -> Iterator[tuple[str, Any, Any]]:
    """What an object keeps, and how: (ITEM or ATTRIBUTE or text; key or name; value). No code of its class runs."""
    if is_a(obj, FunctionType):
        which, code = f"{obj.__qualname__}(), which is", obj.__code__
        for name, cell in zip(code.co_freevars, obj.__closure__ or (), strict=True):
            with suppress(ValueError):  # empty
                yield f"closure variable of {which}", name, cell.cell_contents
        last = code.co_varnames[: code.co_argcount][-len(obj.__defaults__ or ()) :]
        for name, value in (*zip(last, obj.__defaults__ or (), strict=False), *(obj.__kwdefaults__ or {}).items()):
            yield f"default in {which}", name, value
        yield from ((f"global of {which}", name, value) for name, value in _items(obj.__globals__))
    elif is_a(obj, tuple(SUSPENDED)):
        kind, frame = SUSPENDED[type(obj)]
        yield from _locals(getattr(obj, frame), f"in the suspended {kind}", gc.get_referents(obj))
    elif is_a(obj, FrameType):
        yield from _locals(obj, "in the frame", gc.get_referents(obj))
    elif is_a(obj, BaseException | TracebackType):
        traced = obj if is_a(obj, TracebackType) else obj.__traceback__
        while traced is not None:
            yield from _locals(traced.tb_frame, "in the traceback of")
            traced = traced.tb_next
    elif is_a(obj, threading.local):  # a dict for each thread
        spaces = gc.get_referents(*(space for space in gc.get_referents(obj) if is_a(space, dict)))
        yield from ((ATTRIBUTE, *pair) for space in spaces if is_a(space, dict) for pair in _items(space))
    for kind in (dict, list, tuple, deque):
        if is_a(obj, kind):
            yield from ((ITEM, *pair) for pair in (_items(obj) if kind is dict else enumerate(kind.__iter__(obj))))
    yield from ((ATTRIBUTE, name, value) for name, value in _attributes(obj))


def _locals(frame: FrameType | None, place: str, others: Sequence[Any] = ()) -> Iterator[tuple[str, str, Any]]:
    if frame is not None:
        of = f"of {frame.f_code.co_qualname}(), {place}"
        yield from ((f"local {of}", name, value) for name, value in local_names(frame).items())
        yield from ((f"in a loop or an expression {of}", "?", other) for other in others)


def _attributes(obj: Any) -> Iterator[tuple[str, Any]]:
    """An instance's or a class's attributes: from its __dict__ and its __slots__, and an exception's own."""
    yield from _of_class(obj) if is_a(obj, type) else _items(own_dict(obj))
    if is_a(obj, BaseException):
        yield from ((name, vars(BaseException)[name].__get__(obj)) for name in ("args", "__cause__", "__context__"))
    for kind in type(obj).__mro__:
        for name, member in _of_class(kind):
            if inspect.ismemberdescriptor(member):
                with suppress(AttributeError, ValueError):
                    yield name, member.__get__(obj, type(obj))


def _of_class(kind: type) -> list[tuple[str, Any]]:
    return list(type.__dict__["__dict__"].__get__(kind).items())


def _items(space: dict) -> list[tuple[Any, Any]]:
    return list(dict.items(space))


def _key(key: Any) -> str:
    text = f"a {type(key).__name__}"
    with suppress(Exception):  # a subclass may have a __repr__ of its own
        text = repr(key) if is_a(key, (str, bytes, int, float, tuple, type(None))) else text
    return text if len(text) <= LONGEST_KEY else f"{text[: LONGEST_KEY - 1]}…"
