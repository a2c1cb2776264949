"""The ways from names to objects, and their words: `cache['a']`, "local of load(), in the traceback of `failed`"."""

import contextvars
import gc
import inspect
import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import AsyncGeneratorType, CoroutineType, FrameType, FunctionType, GeneratorType, ModuleType, TracebackType
from typing import Any, NamedTuple

from ..owners import is_a, own_dict

DEPTH = 10  # containers in containers, from a name down to what it keeps
LONGEST = 40  # characters of a key
SHOWN = "what a cell showed, kept by IPython"
SHOWN_NAME = re.compile("_+|_[0-9]+")
SUSPENDED = {GeneratorType: ("generator", "gi_frame"), CoroutineType: ("coroutine", "cr_frame"),
             AsyncGeneratorType: ("asynchronous generator", "ag_frame")}  # fmt: skip
ITEM, ATTRIBUTE, INSIDE = "item", "attribute", "inside"


class Named(NamedTuple):
    """`name` is a Python expression where there is one; `where` says who has that name."""

    name: str
    where: str

    def __str__(self) -> str:
        return f"`{self.name}`" + (f", {self.where}" if self.where and not self.where.startswith("global") else "")


@dataclass
class Roots:
    """What names are bound in.

    spaces  id of a dict of globals -> the module's name
    named   id of an object -> its names: a local of a running function, a context variable, an exception on its way
    all     the dicts and the objects
    """

    spaces: dict[int, str] = field(default_factory=dict)
    named: dict[int, list[Named]] = field(default_factory=dict)
    all: list[Any] = field(default_factory=list)

    @classmethod
    def now(cls, ours: Sequence[dict]) -> "Roots":
        """In every thread, as it stands. Functions whose globals are in `ours` do not count, and no frame is kept."""
        roots = cls()
        modules = [(name, own_dict(one)) for name, one in list(sys.modules.items()) if is_a(one, ModuleType)]
        for name, space in sorted(modules, key=lambda module: module[0] != "__main__"):
            roots._add_names_of(space, name)
        for variable, value in contextvars.copy_context().items():
            roots._add(value, variable.name, "value of a context variable")
        threads = {one.ident: f", in the thread {one.name}" for one in threading.enumerate()}
        threads[threading.get_ident()] = ""
        for ident, frame in sys._current_frames().items():
            there = threads.get(ident, f", in the thread {ident}")
            while frame is not None:
                space = frame.f_globals
                if not any(space is one for one in ours):
                    roots._add_names_of(space, str(space.get("__name__", "a namespace without a name")))
                    if frame.f_locals is not space:
                        for name, value in local_names(frame).items():
                            roots._add(value, name, f"local of {frame.f_code.co_qualname}(){there}")
                frame = frame.f_back
        for ident, caught in sys._current_exceptions().items():
            caught = caught[1] if isinstance(caught, tuple) else caught  # (type, value, traceback) before Python 3.12
            if caught is not None:
                there = threads.get(ident, f", in the thread {ident}")
                roots._add(caught, type(caught).__name__, f"the exception that is being handled{there}")
        return roots

    def _add_names_of(self, space: dict, module: str) -> None:
        if id(space) not in self.spaces:
            self.spaces[id(space)] = module
            self.all.append(space)

    def _add(self, value: Any, name: str, where: str) -> None:
        self.named.setdefault(id(value), []).append(Named(name, where))
        self.all.append(value)


def local_names(frame: FrameType) -> dict[str, Any]:
    """A frame's locals, by name, and nothing stays behind.

    Before Python 3.13 (PEP 667), f_locals of a function is a copy that the frame keeps, and with it every value. It is
    emptied again, unless somebody else has got it: what locals() returned is that same dict. And under a debugger the
    interpreter copies it back into the locals.
    """
    held = frame.f_locals
    found = dict(held)
    traced = frame.f_trace or sys.gettrace() or sys.getprofile() or threading.gettrace() or threading.getprofile()
    if is_a(held, dict) and frame.f_code.co_flags & inspect.CO_OPTIMIZED and sys.getrefcount(held) == 3 and not traced:
        held.clear()
    return found


def ways(roots: Roots, kinds: set[int], wanted: Callable[[Any], bool]) -> list[list[Any]]:
    """For each object of these kinds that is wanted, the shortest way to each container of it: [root, …, the object].

    Along what the garbage collector sees, gc.get_referents(); in the order of the names. No way leads through what is
    wanted, nor is longer than DEPTH containers. While this runs, it keeps all that it has seen.
    """
    led, level, seen = {id(one): None for one in roots.all}, roots.all, []  # id -> what led there
    there = {id(one) for one in roots.all if id(type(one)) in kinds and wanted(one)}
    found = [[one] for one in roots.all if id(one) in there]
    containers = {id(dict), id(tuple), *kinds}  # of these, the collector does not track all
    for _ in range(1 + DEPTH):
        seen.append(level)
        level = []
        for one in seen[-1]:
            if id(one) in there:
                continue
            kept = gc.get_referents(one)
            for to in reversed(kept) if type(one) is list or type(one) is tuple else kept:  # these tell the last first
                key = id(to)
                if key not in led and (gc.is_tracked(to) or id(type(to)) in containers):
                    led[key] = one
                    level.append(to)
                    if id(type(to)) in kinds and wanted(to):
                        there.add(key)
                if key in there:
                    found.append([one, to])
    for way in found:
        while (before := led[id(way[0])]) is not None:
            way.insert(0, before)
    order = {key: at for at, key in enumerate(led)}
    distinct = {tuple(map(id, way)): way for way in found}
    return [distinct[key] for key in sorted(distinct, key=lambda key: [order[one] for one in key])]


def exactly(*kinds: type) -> set[int]:
    """The ids of these types and of all that derive from them: a class itself may have an __eq__ of its own."""
    return {id(kind) for kind in kinds}.union(*(exactly(*type.__subclasses__(kind)) for kind in kinds))


def names(way: Sequence[Any], roots: Roots) -> list[Named]:
    """What the last object of a way is called; by all its names, if a root has it itself."""
    for at, one in enumerate(way):
        if "InteractiveShell" in (kind.__name__ for kind in type(one).__mro__):
            return [_along(Named("get_ipython()", "kept by IPython"), way[at:])]
    at = int(id(way[0]) in roots.spaces)
    found = _globals(way[0], roots.spaces[id(way[0])], way[1]) if at else roots.named[id(way[0])]
    if len(way) == at + 1:
        return found
    return [_along(next((one for one in found if not one.name.startswith("_")), found[0]), way[at:])]


def _globals(space: dict, module: str, value: Any) -> list[Named]:
    found = [key if is_a(key, str) else f"globals()[{_key(key)}]" for key, one in _items(space) if one is value]
    found = found or ["?"]  # it may have gone meanwhile
    if module != "__main__":
        return [Named(f"{module}.{name}", "global") for name in found]
    if "_oh" in space and value is space["_oh"]:
        return [Named("Out", SHOWN)]
    shown = {name for name in found if "_oh" in space and SHOWN_NAME.fullmatch(name)}
    return [Named(name, SHOWN if name in shown else "global of __main__") for name in found]


def _along(named: Named, way: Sequence[Any]) -> Named:
    """From `way[0]`, which is called `named`, to the last object of the way."""
    while len(way) > 1:
        ahead = {id(one): at for at, one in enumerate(way) if at}
        kind, key, part = next((one for one in _parts(way[0]) if id(one[2]) in ahead), (INSIDE, None, way[1]))
        if kind == INSIDE:
            named = named._replace(where=f"inside of this {type(way[0]).__name__}; {named.where}")
        elif kind in (ITEM, ATTRIBUTE):
            named = named._replace(name=named.name + (f"[{_key(key)}]" if kind == ITEM else f".{key}"))
        else:
            named = Named(key, f"{kind} {named}")
        way = way[ahead[id(part)] :]
    return named


def _parts(one: Any) -> Iterator[tuple[str, Any, Any]]:
    """What an object keeps, and how: (ITEM or ATTRIBUTE or in words; key or name; value). No code of its class runs."""
    if is_a(one, FunctionType):
        which, code = f"{one.__qualname__}(), which is", one.__code__
        for name, cell in zip(code.co_freevars, one.__closure__ or (), strict=True):
            with suppress(ValueError):  # empty
                yield f"closure variable of {which}", name, cell.cell_contents
        last = code.co_varnames[: code.co_argcount][-len(one.__defaults__ or ()) :]
        for name, value in (*zip(last, one.__defaults__ or (), strict=False), *(one.__kwdefaults__ or {}).items()):
            yield f"default in {which}", name, value
        yield from ((f"global of {which}", name, value) for name, value in _items(one.__globals__))
    elif is_a(one, tuple(SUSPENDED)):
        kind, frame = SUSPENDED[type(one)]
        yield from _locals(getattr(one, frame), f"in the suspended {kind}", gc.get_referents(one))
    elif is_a(one, FrameType):
        yield from _locals(one, "in the frame", gc.get_referents(one))
    elif is_a(one, BaseException | TracebackType):
        traced = one if is_a(one, TracebackType) else one.__traceback__
        while traced is not None:
            yield from _locals(traced.tb_frame, "in the traceback of")
            traced = traced.tb_next
    elif is_a(one, threading.local):  # a dict for each thread
        spaces = gc.get_referents(*(space for space in gc.get_referents(one) if is_a(space, dict)))
        yield from ((ATTRIBUTE, *pair) for space in spaces if is_a(space, dict) for pair in _items(space))
    for kind in (dict, list, tuple, deque):
        if is_a(one, kind):
            yield from ((ITEM, *pair) for pair in (_items(one) if kind is dict else enumerate(kind.__iter__(one))))
    yield from ((ATTRIBUTE, name, value) for name, value in _attributes(one))


def _locals(frame: FrameType | None, place: str, others: Sequence[Any] = ()) -> Iterator[tuple[str, str, Any]]:
    if frame is not None:
        of = f"of {frame.f_code.co_qualname}(), {place}"
        yield from ((f"local {of}", name, value) for name, value in local_names(frame).items())
        yield from ((f"in a loop or an expression {of}", "?", other) for other in others)


def _attributes(one: Any) -> Iterator[tuple[str, Any]]:
    """Of an instance or class: in its __dict__ and its __slots__, and an exception's own."""
    yield from _of_class(one) if is_a(one, type) else _items(own_dict(one))
    if is_a(one, BaseException):
        yield from ((name, vars(BaseException)[name].__get__(one)) for name in ("args", "__cause__", "__context__"))
    for kind in type(one).__mro__:
        for name, member in _of_class(kind):
            if inspect.ismemberdescriptor(member):
                with suppress(AttributeError, ValueError):
                    yield name, member.__get__(one, type(one))


def _of_class(kind: type) -> list[tuple[str, Any]]:
    return list(type.__dict__["__dict__"].__get__(kind).items())


def _items(space: dict) -> list[tuple[Any, Any]]:
    return list(dict.items(space))


def _key(key: Any) -> str:
    words = f"a {type(key).__name__}"
    with suppress(Exception):  # of a class that has a __repr__ of its own
        words = repr(key) if is_a(key, (str, bytes, int, float, tuple, type(None))) else words
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"
