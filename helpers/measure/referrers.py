"""What refers to an object, back to a name: for `who_holds`. Through the garbage collector's own lists, gc."""

import contextvars
import gc
import inspect
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from types import FrameType, ModuleType
from typing import Any

DEPTH = 10  # containers in containers, from a name down to what it keeps
AT_ONCE = 500  # containers that are asked in one call what they refer to


def is_a(one: Any, kinds: type | tuple[type, ...]) -> bool:
    """isinstance() of any object, without running code of its class: a proxy's `__class__` may raise."""
    return issubclass(type(one), kinds)


def own_dict(one: Any) -> dict | None:
    """Its __dict__, without running code of its class: a lazy module would be loaded by vars()."""
    with suppress(AttributeError, TypeError):
        return object.__getattribute__(one, "__dict__")
    return None


def modules() -> list[tuple[str, dict]]:
    """The name and the globals of each."""
    return [(name, own_dict(one)) for name, one in list(sys.modules.items()) if is_a(one, ModuleType)]


@dataclass
class Roots:
    """What names are bound in: namespaces, and the locals of what runs in every thread but in this package's search.

    namespaces  id of a dict of globals -> the module's name
    named       id of an object -> (name, where): a local of a running function, a context variable's value, or an
                exception on its way
    values      the objects of `named`
    """

    namespaces: dict[int, str] = field(default_factory=dict)
    named: dict[int, list[tuple[str, str]]] = field(default_factory=dict)
    values: list[Any] = field(default_factory=list)

    @classmethod
    def now(cls, ours: tuple[dict, ...]) -> "Roots":
        """As it stands; functions whose globals are in `ours` do not count. No frame is kept: one of ours would keep
        what it found."""
        roots = cls()
        for name, space in modules():  # the first name is the right one: multiprocessing calls __main__ __mp_main__
            roots.namespaces.setdefault(id(space), name)
        for variable, value in contextvars.copy_context().items():
            roots._add(value, variable.name, "value of a context variable")
        threads = {one.ident: one.name for one in threading.enumerate()}
        for ident, frame in sys._current_frames().items():
            here = "" if ident == threading.get_ident() else f", in the thread {threads.get(ident, ident)}"
            while frame is not None:
                space = frame.f_globals
                if not any(space is one for one in ours):
                    roots.namespaces.setdefault(id(space), str(space.get("__name__", "a namespace without a name")))
                    if frame.f_locals is not space:
                        for name, value in local_names(frame).items():
                            roots._add(value, name, f"local of {frame.f_code.co_qualname}(){here}")
                frame = frame.f_back
        for ident, caught in sys._current_exceptions().items():
            caught = caught[1] if isinstance(caught, tuple) else caught  # (type, value, traceback) before Python 3.12
            here = "" if ident == threading.get_ident() else f", in the thread {threads.get(ident, ident)}"
            if caught is not None:
                roots._add(caught, type(caught).__name__, f"the exception that is being handled{here}")
        return roots

    def _add(self, value: Any, name: str, where: str) -> None:
        self.named.setdefault(id(value), []).append((name, where))
        self.values.append(value)


def local_names(frame: FrameType) -> dict[str, Any]:
    """A frame's locals, by name, and nothing stays behind.

    Before Python 3.13 (PEP 667), f_locals of a function is a copy that the frame keeps, and with it every value. It is
    emptied again, unless somebody else has got it: what locals() returned is that same dict.
    """
    held = frame.f_locals
    found = dict(held)
    if isinstance(held, dict) and frame.f_code.co_flags & inspect.CO_OPTIMIZED and sys.getrefcount(held) == 3:
        held.clear()
    return found


class Heap:
    """The containers that the collector knows at this moment, and those that it does not track because nothing in them
    could be part of a cycle: a tuple or dict of arrays is one. For one search, within `with`."""

    def __init__(self, roots: Roots):
        self.roots, self.containers = roots, gc.get_objects()
        if gc.get_freeze_count():  # what is frozen is not told, but globals must be seen
            self.containers += [space for _, space in modules()]

    def __enter__(self) -> "Heap":
        return self

    def __exit__(self, *error: object) -> None:
        self.containers.clear()  # it is one of them itself: a cycle, which would keep them all

    def all_of(self, kinds: Iterable[type]) -> list[Any]:
        """Every object of exactly these types that a container or a root refers to."""
        kinds, found, untracked = {id(kind) for kind in kinds}, {}, set()  # ids: a class may have an __eq__ of its own
        plain = {id(dict), id(tuple)}

        def look(objects: list[Any]) -> None:
            for one in objects:
                if id(type(one)) in kinds:
                    found[id(one)] = one
                elif id(type(one)) in plain and not gc.is_tracked(one) and id(one) not in untracked:
                    untracked.add(id(one))
                    self.containers.append(one)

        look(self.roots.values)
        at = 0
        while at < len(self.containers):  # it grows meanwhile
            some = self.containers[at : at + AT_ONCE]
            look(some)
            look(gc.get_referents(*some))
            at += len(some)
        return list(found.values())

    def referring(self, wanted: set[int]) -> Iterator[tuple[Any, Any]]:
        """(container, object) for each reference to an object whose id is wanted."""
        for at in range(0, len(self.containers), AT_ONCE):
            some = self.containers[at : at + AT_ONCE]
            if wanted.isdisjoint(map(id, gc.get_referents(*some))):
                continue
            for container in some:
                for one in gc.get_referents(container):
                    if id(one) in wanted and one is not type(container):
                        yield container, one

    def ways(self, ends: dict[int, Any], stop: Callable[[Any], bool]) -> dict[int, list[Any]]:
        """The shortest way from a root to each of `ends` (id -> container): [namespace or named object, …, end].

        No way leads through what `stop` names. What no root leads to, within DEPTH, is left out.
        """
        nodes, leads_to = dict(ends), {}
        level = {one for one in ends if one not in self.roots.namespaces}
        for _ in range(DEPTH):
            ways = self._from_roots(nodes, leads_to)
            if not level or all(one in ways for one in ends):
                break
            found = set()
            for container, one in self.referring(level):
                if stop(container):
                    continue
                leads_to.setdefault(id(container), []).append(id(one))
                if id(container) not in nodes:
                    nodes[id(container)] = container
                    found.add(id(container))
            level = found - self.roots.namespaces.keys()
        ways = self._from_roots(nodes, leads_to)
        return {end: [nodes[one] for one in ways[end]] for end in ends if end in ways}

    def _from_roots(self, nodes: dict[int, Any], leads_to: dict[int, list[int]]) -> dict[int, list[int]]:
        """Breadth first, over what has been found so far: id -> the ids on the way to it."""
        first = [one for one in nodes if one in self.roots.namespaces]
        ways = {one: [one] for one in first + [one for one in nodes if one in self.roots.named]}
        left = list(ways)
        for one in left:  # it grows meanwhile
            for to in leads_to.get(one, ()) if len(ways[one]) <= DEPTH else ():
                if to not in ways:
                    ways[to] = [*ways[one], to]
                    left.append(to)
        return ways
