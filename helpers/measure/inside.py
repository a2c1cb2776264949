"""What only the measured process can see of itself: marks, calls, imports, and its Python stack at the peak. child.py
loads this file by path: it imports nothing of the package."""

import builtins
import functools
import importlib
import linecache
import sys
import traceback
from types import ModuleType

__builtins__ = vars(builtins).copy()  # as in child.py
FROZEN = "<frozen importlib._bootstrap>"  # Python leaves frames of this file out of tracebacks
MOST_MARKS, LONGEST_NAME = 1000, 100


class Marks:
    """Keeps the first marks, each with its time and `sizes()`: bytes of each kind of memory."""

    def __init__(self, clock, sizes):
        self.all, self.clock, self.sizes = [], clock, sizes

    def __call__(self, name):
        if len(self.all) < MOST_MARKS:
            self.all.append((str(name)[:LONGEST_NAME], self.clock(), self.sizes()))

    def since(self, began: float, base: tuple) -> list[tuple]:
        """Name, seconds since then, and growth over the base, for each."""
        return [(name, time - began, *(map(int.__sub__, sizes, base))) for name, time, sizes in self.all]


class StandIn(ModuleType):
    """Our package, for code that imports only `mark` from it. Asked for more, it gives way to the package."""

    __path__ = ()

    def __getattr__(self, name):
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


def stand_in(package: str, mark) -> None:
    """Else the package would be imported for `mark`, with numpy, and would count as memory of the measured code."""
    if package not in sys.modules:
        sys.modules[package] = made = StandIn(package)
        made.mark = mark


def mark_calls(place: str, mark) -> None:
    """Marks where calls of "module:function" or "module:Class.method" begin and end, whoever has imported it."""
    module, _, path = place.partition(":")
    *outer, name = path.split(".")
    owner = functools.reduce(getattr, outer, importlib.import_module(module))
    raw = vars(owner).get(name) or getattr(owner, name)
    function = raw.__func__ if isinstance(raw, (classmethod, staticmethod)) else raw

    @functools.wraps(function)
    def called(*args, **options):
        mark(path)
        try:
            return function(*args, **options)
        finally:
            mark(f"{path} ended")

    setattr(owner, name, called if raw is function else type(raw)(called))
    for names in [vars(module) for module in sys.modules.values() if isinstance(module, ModuleType)]:
        names.update({key: called for key, value in names.items() if value is function})


class Imports:
    """Adds up what resident memory grows by while modules are imported, until `stop`. `resident()` tells it, in bytes.

    What other threads take meanwhile counts too. Code of a library that is first used later doesn't.
    """

    def __init__(self, resident):
        self.bytes, self.taken, self.busy, self.modules = 0, {}, False, sys.modules
        self.bootstrap = sys.modules["_frozen_importlib"]
        self.find = find = self.bootstrap._find_and_load

        def _find_and_load(name, import_):  # Python calls this for a module that isn't in sys.modules
            if self.busy:
                return find(name, import_)
            self.busy, before = True, resident()
            try:
                return find(name, import_)
            finally:
                self.busy = False
                self.note(name, resident() - before)

        _find_and_load.__code__ = _find_and_load.__code__.replace(co_filename=FROZEN)
        self.bootstrap._find_and_load = _find_and_load

    def note(self, name: str, taken: int) -> None:
        self.bytes += max(0, taken)
        if name in self.modules:
            self.taken[name] = taken

    def stop(self) -> None:
        self.bootstrap._find_and_load = self.find

    def largest(self) -> list[str]:
        """The modules that took a tenth or more, the largest first."""
        return sorted((name for name in self.taken if 10 * self.taken[name] >= self.bytes > 0), key=self.taken.get)[
            ::-1
        ]


class Stack:
    """The Python stack when `high_water()`, bytes, last rose. `trace` is for sys.settrace.

    What has been taken since the last look belongs to the line that has just ended. A look takes some 20 µs, so there
    is none for four times as long after it.
    """

    def __init__(self, clock, high_water):
        self.clock, self.high_water = clock, high_water
        self.highest, self.due, self.lines = high_water(), 0.0, []

    def trace(self, frame, event, arg):
        line, caller = frame.f_lineno, frame.f_back
        if caller and self.clock() >= self.due:
            self.look(caller, caller.f_lineno)

        def step(frame, event, arg):
            nonlocal line
            if self.clock() >= self.due:
                self.look(frame, line)
            line = frame.f_lineno
            return step

        return step

    def look(self, frame, line: int) -> None:
        began, high = self.clock(), self.high_water()
        if high > self.highest:
            self.highest, self.lines = high, []
            while frame:
                self.lines.append((frame.f_code.co_filename, line, frame.f_code.co_name))
                frame = frame.f_back
                line = frame and frame.f_lineno
        now = self.clock()
        self.due = now + 4 * (now - began)

    def text(self, *without: str) -> str:
        """As in a traceback, without the frames of these files."""
        lines = [line for line in self.lines[::-1] if line[0] not in without]
        return "".join(traceback.format_list([(*line, linecache.getline(*line[:2]).strip()) for line in lines]))
