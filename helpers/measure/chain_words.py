"""A chain of references in words: `cache['a']`, "local of load(), in the traceback of `sys.last_value`"."""

import inspect
import re
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from types import (
    AsyncGeneratorType,
    CellType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    MethodType,
    TracebackType,
)
from typing import Any, NamedTuple

from .referrers import Roots, is_a, local_names, own_dict

SHOWN = "what a cell showed, kept by IPython"
SHOWN_NAME = re.compile("_+|_[0-9]+")
LONGEST = 40  # characters of a key
SUSPENDED = {GeneratorType: ("generator", "gi_frame"), CoroutineType: ("coroutine", "cr_frame"),
             AsyncGeneratorType: ("asynchronous generator", "ag_frame")}  # fmt: skip


class Named(NamedTuple):
    """`name` is a Python expression where there is one; `where` says who has that name."""

    name: str
    where: str

    def __str__(self) -> str:
        return f"`{self.name}`" + (f", {self.where}" if self.where and not self.where.startswith("global") else "")

    def then(self, more: str) -> "Named":
        return self._replace(name=self.name + more)


def names(way: Sequence[Any], roots: Roots) -> list[Named]:
    """What the last object of a way (a root, …, the object) is called; by all its names, if a root has it itself."""
    shell = next((i for i, one in enumerate(way) if _is_shell(one)), None)
    if shell is not None:
        return [_along(Named("get_ipython()", "kept by IPython"), way[shell:])]
    root, *rest = way
    if id(root) in roots.namespaces:
        found = _globals(root, roots.namespaces[id(root)], rest[0])
        rest = rest[1:]
    else:
        found = [Named(*one) for one in roots.named[id(root)]]
    if rest:
        start = next((one for one in found if not one.name.startswith("_")), found[0])
        return [_along(start, [way[-len(rest) - 1], *rest])]
    return found


def _globals(space: dict, module: str, value: Any) -> list[Named]:
    found = [name for name, one in list(dict.items(space)) if one is value] or ["?"]  # it may have gone meanwhile
    if module == "builtins" and "_" in found:
        return [Named("_", "the last result, kept by the interactive interpreter")]
    if module != "__main__":
        return [Named(f"{module}.{name}", "global") for name in found]
    if "_oh" in space:
        if value is space["_oh"]:
            return [Named("Out", SHOWN)]
        return [Named(name, SHOWN if SHOWN_NAME.fullmatch(name) else "global of __main__") for name in found]
    return [Named(name, "global of __main__") for name in found]


def _along(named: Named, way: list[Any]) -> Named:
    """From `way[0]`, which is called `named`, to the last object of the way."""
    at = 0
    while at < len(way) - 1:
        one, to, *after = way[at:]
        steps = 1
        if is_a(one, FrameType):
            named = named if is_a(to, FrameType) else _local(one, to, after, f"a frame that {named} keeps")
            steps = 1 + _is_copy(one, to)
        elif is_a(one, BaseException) and is_a(to, TracebackType):
            steps, named = _traceback(way[at + 1 :], named)
        elif is_a(one, TracebackType):
            steps, named = _traceback(way[at:], named)
            steps -= 1
        elif is_a(one, tuple(SUSPENDED)):
            kind, frame = SUSPENDED[type(one)]
            frame = getattr(one, frame)
            steps, named = 1 + _is_copy(frame, to), _local(frame, to, after, f"the suspended {kind} {named}")
        elif is_a(one, FunctionType):
            steps, named = _function(one, [to, *after], named)
        elif after and is_a(to, dict) and (is_a(one, type) or to is own_dict(one)):
            steps, named = 2, named.then(_attribute(vars(one) if is_a(one, type) else to, after[0]))
            if named.name.endswith("._trait_values") and is_a(after[0], dict) and len(after) > 1:  # traitlets
                steps, named = 3, named._replace(name=named.name.removesuffix("._trait_values"))
                named = named.then(_attribute(after[0], after[1]))
        elif is_a(one, threading.local) and len(after) > 1 and is_a(after[0], dict):  # a dict for each thread
            steps, named = 3, named.then(_attribute(after[0], after[1]))
        else:
            named = _inside(one, to, named)
        at += steps
    return named


def _traceback(way: Sequence[Any], named: Named) -> tuple[int, Named]:
    """Along a traceback to a local of one of its frames; and how many objects that were, with the one before."""
    at = next((i for i, one in enumerate(way) if is_a(one, FrameType)), None)
    while at is not None and at + 1 < len(way) and is_a(way[at + 1], FrameType):  # to the frame that called it
        at += 1
    if at is None or at + 1 >= len(way):
        return len(way), named
    steps = at + 2 + _is_copy(way[at], way[at + 1])
    return steps, _local(way[at], way[at + 1], way[at + 2 :], f"the traceback of {named}")


def _local(frame: FrameType | None, value: Any, after: Sequence[Any], place: str) -> Named:
    if after and (is_a(value, CellType) or _is_copy(frame, value)):  # a cell: an inner function uses it too
        value = after[0]
    found = local_names(frame) if frame is not None else {}
    name = next((name for name, one in found.items() if one is value), None)
    kind = "local" if name else "in a loop or an expression"
    return Named(name or "?", f"{kind} of {frame.f_code.co_qualname if frame else '?'}(), in {place}")


def _is_copy(frame: FrameType | None, value: Any) -> bool:
    """Before Python 3.13: the copy of its locals that a frame keeps, once somebody has asked for f_locals."""
    if frame is None or not is_a(value, dict):
        return False
    return not any(one is value for one in local_names(frame).values())


def _is_shell(one: Any) -> bool:
    return any(kind.__name__ == "InteractiveShell" for kind in type(one).__mro__)


def _function(one: FunctionType, after: list[Any], named: Named) -> tuple[int, Named]:
    """Into a closure, a default, the function's own attributes, or its globals; and how many objects that was."""
    to, *rest = after
    words = f"{one.__qualname__}(), which is {named}"
    if to is one.__closure__ and len(rest) > 1:
        cells = zip(one.__code__.co_freevars, one.__closure__, strict=True)
        return 3, Named(next((n for n, cell in cells if cell is rest[0]), "?"), f"closure variable of {words}")
    if to is one.__defaults__ and rest:
        last = one.__code__.co_varnames[: one.__code__.co_argcount][-len(to) :]
        return 2, Named(next((n for n, v in zip(last, to, strict=True) if v is rest[0]), "?"), f"default in {words}")
    if to is one.__kwdefaults__ and rest:
        return 2, Named(next((n for n, v in to.items() if v is rest[0]), "?"), f"default in {words}")
    if to is one.__globals__ and rest:
        return 2, Named(next((n for n, v in to.items() if v is rest[0]), "?"), f"global of {words}")
    if is_a(to, dict) and rest:
        return 2, named.then(_attribute(to, rest[0]))
    return 1, _inside(one, to, named)


def _inside(one: Any, to: Any, named: Named) -> Named:
    pairs = []
    for kind in (dict, list, tuple, deque):
        if is_a(one, kind):
            pairs = list(dict.items(one) if kind is dict else enumerate(kind.__iter__(one)))
    for key, value in pairs:
        if value is to:
            return named.then(f"[{_key(key)}]")
        if key is to:
            return Named(named.name, f"a key of it, {named.where}")
    if is_a(one, MethodType):
        return named.then(".__self__")
    if is_a(one, CellType):
        return named
    for name, value in _attributes(one):
        if value is to:
            return named.then(f".{name}")
    return Named(named.name, f"inside of this {type(one).__name__}; {named.where}")


def _attribute(space: Any, value: Any) -> str:
    return f".{next((name for name, one in list(space.items()) if one is value), '?')}"


def _attributes(one: Any) -> Iterator[tuple[str, Any]]:
    """Of an instance, in its __dict__ and __slots__, without running code of its class."""
    yield from list((own_dict(one) or {}).items())
    if is_a(one, BaseException):
        yield from ((name, vars(BaseException)[name].__get__(one)) for name in ("args", "__cause__", "__context__"))
    for kind in type(one).__mro__:
        for name, member in vars(kind).items():
            if inspect.ismemberdescriptor(member):
                with suppress(AttributeError, ValueError):
                    yield name, member.__get__(one, type(one))


def _key(key: Any) -> str:
    words = f"a {type(key).__name__}"
    with suppress(Exception):  # of a class that has a __repr__ of its own
        words = repr(key) if is_a(key, (str, bytes, int, float, tuple, type(None))) else words
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"
