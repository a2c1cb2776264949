"""The chains of names that lead to objects: what the garbage collector sees, walked from where
names are.
"""

import contextvars
import functools
import gc
import inspect
import re
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from traceback import walk_tb
from types import (
    AsyncGeneratorType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    ModuleType,
    TracebackType,
)
from typing import Any, NamedTuple

import numpy as np

from ..owners import is_a, link_of, own_dict, way_to_owner

MOST_NAMED = 20  # objects below a single one that are named one by one
AT_ONCE = 500  # containers in a single call of gc.get_referents()
MOST_MET = 50  # objects on the ways up from a nameless one
DEPTH = 10  # containers in containers, from a name down to an object
LONGEST_KEY = 40  # characters
SHOWN = "what a cell showed, kept by IPython"
SHOWN_NAME = re.compile("_+|_[0-9]+|_oh|Out")
SUSPENDED = {GeneratorType: "gi_frame", CoroutineType: "cr_frame", AsyncGeneratorType: "ag_frame"}
PARTS = "hamt_"  # of contexts: those have the names
UNTRACKED = {id(dict), id(tuple)}  # if they hold only arrays, text and numbers
CACHED = type(functools.cache(len))
# of exceptions and functions
OWN = ("args", "__cause__", "__context__", "__defaults__", "__kwdefaults__")
ITEM, ATTRIBUTE = "item", "attribute"
# References to a frame's dict of locals: the frame's, our name for it, and the argument of
# sys.getrefcount().
NOBODY_ELSE = 3


class Named(NamedTuple):
    """`name` is a Python expression if there is one; `where` says what has that name."""

    name: str
    where: str

    def __str__(self) -> str:
        return f"`{self.name}`" + ("" if self.where.startswith("global") else f", {self.where}")


class Roots:
    """Where a search begins: the dicts and objects that names are bound to, now, in any thread. No
    frame is kept.

    spaces  id of a dict of globals -> the module's name
    named   id of an object -> its names: a local of a running function, a context variable, an
            exception being handled
    all     the dicts and the objects
    """

    def __init__(self, asking: dict):
        self.spaces, self.named, self.all = {}, {}, []
        modules = [
            (name, own_dict(module))
            for name, module in list(sys.modules.items())
            if is_a(module, ModuleType)
        ]
        for name, space in sorted(modules, key=lambda module: module[0] != "__main__"):
            self._add_names_of(space, name)
        made = [one for one in gc.get_objects() if is_a(one, contextvars.Context)]
        values = {
            (key, id(value)): value
            for one in [contextvars.copy_context(), *made]
            for key, value in one.items()
        }
        for (variable, _), value in values.items():
            self._add(value, variable.name, "value of a context variable")
        threads = {
            thread.ident: f", in the thread {thread.name}" for thread in threading.enumerate()
        }
        threads[threading.get_ident()] = ""
        for ident, frame in sys._current_frames().items():
            thread = threads.get(ident, f", in the thread {ident}")
            while frame is not None:
                space = frame.f_globals
                # the functions that ask don't count
                if space is not globals() and space is not asking:
                    self._add_names_of(
                        space, str(space.get("__name__", "a namespace with no name"))
                    )
                    if frame.f_locals is not space:
                        for name, value in local_names(frame).items():
                            self._add(value, name, f"local of {frame.f_code.co_qualname}(){thread}")
                frame = frame.f_back
        for ident, caught in sys._current_exceptions().items():
            # (type, value, traceback) before Python 3.12
            caught = caught[1] if isinstance(caught, tuple) else caught
            if caught is not None:
                self._add(
                    caught,
                    type(caught).__name__,
                    f"the exception being handled{threads.get(ident, '')}",
                )

    def _add_names_of(self, space: dict, module: str) -> None:
        if id(space) not in self.spaces:
            self.spaces[id(space)] = module
            self._add(space, f"vars({module})", "the module's globals")

    def _add(self, value: Any, name: str, where: str) -> None:
        self.named.setdefault(id(value), []).append(Named(name, where))
        self.all.append(value)


def local_names(frame: FrameType) -> dict[str, Any]:
    """A frame's locals, by name. Nothing stays behind.

    Before Python 3.13 (PEP 667), f_locals of a function is a copy that the frame keeps. This
    empties it again, unless somebody else has it (locals() returns that same dict), or a debugger
    runs: it's copied back into the locals then.
    """
    space = frame.f_locals
    names = dict(space)
    is_copy = is_a(space, dict) and frame.f_code.co_flags & inspect.CO_OPTIMIZED
    traced = (
        frame.f_trace
        or sys.gettrace()
        or sys.getprofile()
        or threading.gettrace()
        or threading.getprofile()
    )
    if is_copy and not traced and sys.getrefcount(space) == NOBODY_ELSE:
        space.clear()
    return names


def paths_to(roots: list[Any], kinds: set[int], wanted: Callable[[Any], bool]) -> list[list[Any]]:
    """For each wanted object of these kinds, the shortest path to each container of it: [root, …,
    the object].

    They come in the order of the names. It follows arrays, and what the garbage collector sees. No
    path leads through a wanted object or is longer than DEPTH containers. While it runs, all it has
    seen is kept alive.
    """
    parent = {id(root): None for root in roots}
    level = roots
    seen = []  # id -> what led there
    goals = {id(root) for root in roots if id(type(root)) in kinds and wanted(root)}
    results = {id(root): [root] for root in roots if id(root) in goals}
    # the collector doesn't track all of these
    containers = UNTRACKED | {id(np.ndarray), *kinds}
    for _ in range(1 + DEPTH):
        seen.append(level)
        level = []
        for obj in seen[-1]:
            if id(obj) in goals:
                continue
            referents = gc.get_referents(obj) or _in_array(obj)
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
                    results[id(obj), key] = [obj, to]
    for path in results.values():
        while (before := parent[id(path[0])]) is not None:
            path.insert(0, before)
    order = {key: at for at, key in enumerate(parent)}
    return sorted(results.values(), key=lambda path: [order[id(step)] for step in path])


def nameless(
    roots: list, kinds: set[int], wanted: Callable[[Any], bool], paths: list[list[Any]]
) -> list[list[Any]]:
    """Wanted objects that no path leads to, each in its container if that is known: [container,
    object] or [object].

    What a holder keeps (an array's mapping, a file's buffer) isn't a holder itself.
    """
    known = {id(path[-2]) for path in paths if len(path) > 1} | {id(roots), *map(id, paths)}
    tracked = gc.get_objects()
    alone = {}
    pairs = {}
    at = 0
    while some := tracked[at : at + AT_ONCE]:
        at += AT_ONCE
        below = gc.get_referents(*some)
        tracked += [one for one in below if id(type(one)) in UNTRACKED and not gc.is_tracked(one)]
        found = [obj for obj in some + below if id(type(obj)) in kinds and wanted(obj)]
        alone.update((id(obj), obj) for obj in found)
        # in loops: the collector sees the locals that a comprehension uses
        for one in some * bool(found):
            if id(one) not in known and not type(one).__name__.startswith(PARTS):
                for obj in gc.get_referents(one):
                    if id(obj) in alone:
                        pairs[id(one), id(obj)] = [one, obj]
    holders = alone | {id(path[-1]): path[-1] for path in paths}
    kept = {
        key: [*way_to_owner(obj)[1:], *gc.get_referents(obj, own_dict(obj))]
        for key, obj in holders.items()
    }
    inside = {id(one) for key, some in kept.items() for one in some if id(one) != key}
    pairs = [
        [one, obj]
        for one, obj in pairs.values()
        if not {id(one), id(obj)} & inside and id(one) not in holders
    ]
    homes = {id(one) for one, _ in pairs}
    types = {id(type(one)) for one, _ in pairs}
    if homes:  # a part of a holder may refer to it, as children to their parent
        parts = paths_to([*holders.values()], types, lambda obj: id(obj) in homes)
        homes -= {id(path[-1]) for path in parts}
    pairs = [[one, obj] for one, obj in pairs if id(one) in homes]
    inside |= {id(path[-1]) for path in (*paths, *pairs)}
    return pairs + [[obj] for key, obj in alone.items() if key not in inside]


def from_c(path: list[Any], ours: list[list[Any]]) -> list[Any]:
    """The path, and before it the shortest way to its first object from one that no Python object
    but `ours` refers to; [] if there's none among the first MOST_MET that lead there.
    """
    ways = [path]
    ours = {id(ways), *map(id, ours)}
    met = set()
    for way in ways:
        held = [one for one in gc.get_referrers(way[0]) if id(one) not in ours]
        if not held:
            return way
        for one in held:
            if id(one) not in met and len(ways) < MOST_MET:
                ways.append([one, *way])
                ours.add(id(ways[-1]))
                met.add(id(one))
        del held  # which refers to them, too
    return []


def together(paths: list[list[Any]], roots: Roots) -> list[tuple[list[Any], int]]:
    """Each path, and how many more it stands for: if more than MOST_NAMED go through an object (a
    list), the first.
    """
    through = Counter(id(obj) for path in paths for obj in path[:-1] if id(obj) not in roots.spaces)
    groups: dict[int, list[list[Any]]] = {}
    for path in paths:
        crowded = (id(obj) for obj in reversed(path[:-1]) if through[id(obj)] > MOST_NAMED)
        groups.setdefault(next(crowded, id(path)), []).append(path)
    return [(first, len(others)) for first, *others in groups.values()]


def _in_array(obj: Any) -> list[Any]:
    """What the collector doesn't see: what an array is a view of, or its objects."""
    if not is_a(obj, np.ndarray):
        return []
    if link := link_of(obj):
        return [link.to]
    return (
        list(np.ndarray.view(obj, np.ndarray).flat)
        if np.ndarray.dtype.__get__(obj).kind == "O"
        else []
    )


def exactly(*kinds: type) -> set[int]:
    """The ids of these types and all their subclasses. Ids, because a metaclass may define its own
    __eq__.
    """
    return {id(kind) for kind in kinds}.union(
        *(exactly(*type.__subclasses__(kind)) for kind in kinds)
    )


def names(path: Sequence[Any], roots: Roots) -> list[Named]:
    for at, obj in enumerate(path):
        if "InteractiveShell" in (kind.__name__ for kind in type(obj).__mro__):
            return [_along(Named("get_ipython()", "kept by IPython"), path[at:])]
    named = roots.named[id(path[0])]
    at = 0
    if id(path[0]) in roots.spaces and len(path) > 1:
        named = _globals(path[0], roots.spaces[id(path[0])], path[1])
        at = 1
    if len(path) == at + 1:
        return named
    return [
        _along(next((each for each in named if not each.name.startswith("_")), named[0]), path[at:])
    ]


def _globals(space: dict, module: str, value: Any) -> list[Named]:
    # it has gone
    keys = [key for key, bound in _items(space) if bound is value and is_a(key, str)] or ["?"]
    if module != "__main__":
        return [Named(f"{module}.{key}", "global") for key in keys]
    ipython = "_oh" in space
    return [
        Named(key, SHOWN if ipython and SHOWN_NAME.fullmatch(key) else "global of __main__")
        for key in keys
    ]


def _along(named: Named, path: Sequence[Any]) -> Named:
    while len(path) > 1:
        ahead = {id(obj): at for at, obj in enumerate(path) if at}
        name = named.name
        kind, key, part = next(
            (part for part in _parts(path[0]) if id(part[2]) in ahead), (None, None, path[1])
        )
        if kind == ITEM:
            named = named._replace(name=f"{name}[{_key(key)}]")
        elif kind == ATTRIBUTE:
            named = named._replace(name=f"{name}.{key}")
        elif kind:
            named = Named(key, f"{kind} {named}")
        elif not name.endswith("…"):
            cached = is_a(path[0], CACHED)
            how = (
                f"in a cache, until {name}.cache_clear()"
                if cached
                else f"inside this {type(path[0]).__name__}"
            )
            named = Named(f"{name}…", f"{how}; {named.where}")
        path = path[ahead[id(part)] :]
    return named


def _parts(obj: Any) -> Iterator[tuple[str, Any, Any]]:
    """What an object keeps, and how: (ITEM or ATTRIBUTE or text; key or name; value). No code of
    its class runs.
    """
    if is_a(obj, FunctionType):
        for name, cell in zip(obj.__code__.co_freevars, obj.__closure__ or (), strict=True):
            with suppress(ValueError):  # empty
                yield (
                    f"closure variable of {obj.__qualname__}(), which is",
                    name,
                    cell.cell_contents,
                )
    elif is_a(obj, tuple(SUSPENDED)):
        yield from _locals(
            [getattr(obj, SUSPENDED[type(obj)])], f"in the suspended {type(obj).__name__}"
        )
    elif is_a(obj, FrameType):
        yield from _locals([obj], "in the frame")
    elif is_a(obj, BaseException | TracebackType):
        traced = obj if is_a(obj, TracebackType) else obj.__traceback__
        yield from _locals((frame for frame, _ in walk_tb(traced)), "in the traceback of")
    elif is_a(obj, threading.local):  # a dict for each thread
        spaces = gc.get_referents(*(space for space in gc.get_referents(obj) if is_a(space, dict)))
        yield from (
            (ATTRIBUTE, *pair) for space in spaces if is_a(space, dict) for pair in _items(space)
        )
    for kind in (dict, list, tuple, deque):
        if is_a(obj, kind):
            yield from (
                (ITEM, *pair)
                for pair in (_items(obj) if kind is dict else enumerate(kind.__iter__(obj)))
            )
    yield from ((ATTRIBUTE, name, value) for name, value in _attributes(obj))


def _locals(frames: Iterable[FrameType | None], place: str) -> Iterator[tuple[str, str, Any]]:
    for frame in filter(None, frames):
        of = f"local of {frame.f_code.co_qualname}(), {place}"
        yield from ((of, name, value) for name, value in local_names(frame).items())


def _attributes(obj: Any) -> Iterator[tuple[str, Any]]:
    """An instance's or a class's attributes: from its __dict__ and its __slots__, and OWN ones."""
    yield from _of_class(obj) if is_a(obj, type) else _items(own_dict(obj))
    for kind in type(obj).__mro__:
        for name, member in _of_class(kind):
            if inspect.ismemberdescriptor(member) or (
                name in OWN and inspect.isgetsetdescriptor(member)
            ):
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
