"""What only the measured process can see of itself: marks, calls, imports, and the Python stacks under which it grew.
child.py loads this file by path: it imports nothing of the package."""

import builtins
import functools
import importlib
import linecache
import os
import sys
import traceback
from types import ModuleType

__builtins__ = vars(builtins).copy()  # as in child.py
HERE = os.path.dirname(__file__)
BELOW = (__file__, *(os.path.join(HERE, name) for name in ("child.py", "__main__.py")))  # the measured program
MOST_STACKS = 1000
FROZEN = "<frozen importlib._bootstrap>"  # Python leaves frames of this file out of tracebacks


def stand_in(package: str, mark) -> None:
    """Our package, for code that imports only `mark` from it: else its numpy would count as memory of that code. Asked
    for more, it gives way to the package."""

    def other(name):
        if sys.modules.get(package) is made:
            del sys.modules[package]
        return getattr(importlib.import_module(package), name)

    made = sys.modules.setdefault(package, ModuleType(package))
    if not hasattr(made, "__path__"):
        made.__path__, made.mark, made.__getattr__ = [os.path.dirname(__file__)], mark, other


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


def fewer(marks: list) -> list:
    """Every second mark, and of each name the one with the most memory, if these aren't nearly all."""
    most = {}
    for name, _, sizes in marks:
        most[name] = max(most.get(name, 0), sum(sizes))
    kept = [mark for number, mark in enumerate(marks) if number % 2 or sum(mark[2]) == most[mark[0]]]
    return kept if len(kept) < 0.9 * len(marks) else marks[1::2]


def summary(line: tuple) -> traceback.FrameSummary:
    """A line of a traceback, with the file's name as one imports it, "numpy/_core/numeric.py", or "a cell"."""
    file, number, name = line
    folders = [folder for folder in filter(None, sys.path) if file.startswith(os.path.join(folder, ""))]
    short = os.path.relpath(file, max(folders, key=len)) if folders else file
    short = "a cell" if f"{os.sep}ipykernel_" in short else short
    return traceback.FrameSummary(short, number, name, line=linecache.getline(file, number))


class Imports:
    """Adds up what resident memory grows by while modules are imported, until `stop`. `resident()` tells it, in bytes.

    What other threads take meanwhile counts too. Code of a library that is first used later doesn't."""

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
                self.busy, taken = False, resident() - before
                self.bytes += max(0, taken)
                if name in self.modules:
                    self.taken[name] = taken

        _find_and_load.__code__ = _find_and_load.__code__.replace(co_filename=FROZEN)
        self.bootstrap._find_and_load = _find_and_load

    def stop(self) -> None:
        self.bootstrap._find_and_load = self.find

    def largest(self) -> list[str]:
        """The modules that took a tenth or more, the largest first."""
        large = (name for name, taken in self.taken.items() if 10 * taken >= self.bytes > 0)
        return sorted(large, key=self.taken.get, reverse=True)


class Stack:
    """The Python stacks under which `high_water()`, bytes, rose. `trace` is for sys.settrace.

    What has been taken since the last look belongs to the line that has just ended. A look takes some 20 µs, so there
    is none for four times as long after it."""

    def __init__(self, clock, high_water):
        self.clock, self.high_water = clock, high_water
        self.highest, self.due, self.rises, self.threads = high_water(), 0.0, {}, 1

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
            lines = []
            while frame:
                lines.insert(0, (frame.f_code.co_filename, line, frame.f_code.co_name))
                frame = frame.f_back
                line = frame and frame.f_lineno
            lines = tuple(line for line in lines if line[0] not in BELOW and not line[0].startswith("<frozen "))
            if not any(file.startswith(HERE) for file, _, _ in lines):  # not `where` and the like
                self.rises[lines] = self.rises.get(lines, 0) + high - self.highest
            self.highest, self.threads = high, max(self.threads, len(sys._current_frames()))
            if len(self.rises) > MOST_STACKS:
                self.rises = {lines: self.rises[lines] for lines in self.largest(MOST_STACKS // 2)}
        now = self.clock()
        self.due = now + 4 * (now - began)

    def largest(self, number: int) -> list[tuple]:
        return sorted(self.rises, key=self.rises.get, reverse=True)[:number]

    def text(self) -> str:
        """Of the largest, and of two more that took a fifth: what was taken, and the stack, as in a traceback."""
        self.rises = self.rises.copy()  # other threads may go on
        total, said = sum(self.rises.values()) / 2**20, []
        for lines in self.largest(3):
            if (rise := self.rises[lines] / 2**20) >= total / 5 or not said:
                frames = traceback.format_list(map(summary, lines))
                said.append(f"  {rise:.3g} of {total:.3g} MiB:\n{''.join(frames)}")
        if said and self.threads > 1:
            said.append(f"  {self.threads} threads ran: another may have taken it\n")
        return "".join(said)
