"""What only the measured process can see of itself: marks, calls, imports, and which Python stacks
allocate. child.py loads this file by path: it imports nothing of the package.
"""

import builtins
import functools
import importlib
import itertools
import marshal
import os
import sys
import time
from types import ModuleType

__builtins__ = vars(builtins).copy()  # as in child.py
MOST_FRAMES = 40  # that tracemalloc keeps
CALLS = itertools.count(1)
FROZEN = "<frozen importlib._bootstrap>"  # Python leaves frames of this file out of tracebacks


def stand_in(package: str, mark) -> None:
    """Our package, for code that imports only `mark` from it: else its numpy would count as memory
    of that code. Asked for more, it gives way to the package.
    """

    def other(name):
        if sys.modules.get(package) is made:
            del sys.modules[package]
        return getattr(importlib.import_module(package), name)

    made = sys.modules.setdefault(package, ModuleType(package))
    if not hasattr(made, "__path__"):
        made.__path__ = [os.path.dirname(__file__)]
        made.mark = mark
        made.__getattr__ = other


def mark_calls(place: str, mark, names: dict) -> None:
    """Marks where calls of "module:function" or "module:Class.method" begin and end, whoever has
    imported it; without a module, it's of the notebook, whose `names` functions use.
    """
    module, _, path = place.rpartition(":")
    *outer, name = path.split(".")
    if not module and path.split(".")[0] not in names:
        raise NameError(
            "the code uses no function of this name; one in a library is named as module:function"
        )
    owner = functools.reduce(getattr, outer, importlib.import_module(module or "__main__"))
    raw = vars(owner).get(name) or getattr(owner, name)
    function = raw.__func__ if isinstance(raw, (classmethod, staticmethod)) else raw

    @functools.wraps(function)
    def called(*args, **options):
        number = next(CALLS)
        mark(f"{path} called", number)
        try:
            return function(*args, **options)
        finally:
            mark(f"{path} ended", number)

    setattr(owner, name, called if raw is function else type(raw)(called))
    for space in [
        names,
        *(vars(module) for module in sys.modules.values() if isinstance(module, ModuleType)),
    ]:
        space.update({key: called for key, value in space.items() if value is function})


def fewer(marks: list) -> list:
    """Every second mark or call, and of each name the one with the most memory, if these aren't
    nearly all.
    """
    calls = list(dict.fromkeys(mark[2] for mark in marks))
    highest = {mark[0]: mark[2] for mark in sorted(marks, key=lambda mark: sum(mark[-1]))}
    few = {*calls[1::2], *highest.values()}
    few = few if len(few) < 0.9 * len(calls) else {*calls[1::2]}
    return [mark for mark in marks if mark[2] in few]


class Imports:
    """Adds up what resident memory grows by while modules are imported, until `stop`. `resident()`
    tells it, in bytes.

    What other threads take meanwhile counts too. Code of a library that is first used later
    doesn't.
    """

    def __init__(self, resident):
        self.bytes = 0
        self.taken = {}
        self.busy = False
        self.modules = sys.modules
        self.bootstrap = sys.modules["_frozen_importlib"]
        self.find = find = self.bootstrap._find_and_load

        # Python calls this for a module that isn't in sys.modules
        def _find_and_load(name, import_):
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


class Stacks:
    """Between `begin` and `end`, a file in a folder is to tell which stacks allocate: memray's, or
    what tracemalloc saw at the peak and at the end. `memray` is there too if the process is killed
    meanwhile, and has small objects by the MiB. With `by_object` it's `objects`: the line of each
    small object, written when the run ends.
    """

    def __init__(self, folder: str, by_object: bool):
        self.path = os.path.join(folder, "tracemalloc")
        self.tracker = None
        self.taken = {}
        try:
            import memray

            kinds = memray.FileFormat
            self.tracker = memray.Tracker(
                destination=memray.FileDestination(
                    os.path.join(folder, "objects" if by_object else "memray"),
                    compress_on_exit=False,
                ),
                file_format=kinds.AGGREGATED_ALLOCATIONS if by_object else kinds.ALL_ALLOCATIONS,
                trace_python_allocators=by_object,
            )
        except Exception as error:  # it isn't installed, or doesn't run here
            import threading
            import tracemalloc

            self.tracemalloc, self.ended = tracemalloc, threading.Event()
            self.watch = threading.Thread(target=self.look_for_the_peak, daemon=True)
            self.write("why", f"{type(error).__name__}: {error}")

    def begin(self) -> None:
        if self.tracker:
            self.tracker.__enter__()
        else:
            self.tracemalloc.start(MOST_FRAMES)
            self.watch.start()

    def end(self) -> None:
        if self.tracker:
            self.tracker.__exit__(None, None, None)
        else:
            self.ended.set()
            self.watch.join()
            self.keep("at the end")
            self.tracemalloc.stop()

    def look_for_the_peak(self, pause: float = 0.001) -> None:
        """Keeps whatever is a tenth more than ever. Takes at most a third of the time."""
        highest = 0
        while not self.ended.wait(pause):
            if (now := self.tracemalloc.get_traced_memory()[0]) > 1.1 * highest + 2**16:
                began = time.perf_counter()
                highest = now
                self.keep("at the peak")
                pause = max(0.001, 2 * (time.perf_counter() - began))

    def keep(self, moment: str) -> None:
        # take_snapshot() makes objects of them, which are traced too
        self.write(moment, self.tracemalloc._get_traces())

    def write(self, name: str, value) -> None:
        self.taken[name] = value
        with open(f"{self.path}.new", "wb") as file:
            marshal.dump(self.taken, file)
        os.replace(f"{self.path}.new", self.path)
