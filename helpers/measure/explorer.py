"""The page explorer: a small file, mapped by a process made for it, and what the kernel says about
its pages.

`Explorer` does one thing at a time (touch a page, write a page, drop, evict, fork). After each it
reads what the process's page table holds, what the page cache holds, and what the action cost: a
`Step`. All steps make a `Film`. The mapping lives in a process of its own, which runs
explorer_child.py, because a notebook's kernel must not fork.
"""

import operator
import os
import random
import tempfile
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, replace
from multiprocessing import Pipe
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import cloudpickle

from .. import folders
from ..safe_files import check_free_space
from ..units import in_words
from . import explorer_child, maps
from .advice import ADVICE, number_of
from .cache import PageCache, drop_from_cache, page_cache
from .explorer_child import PAGE
from .jsonable import Measured
from .machine import Machine, here
from .pages import PageMap, page_map
from .process import pickled, spawn
from .tables import Count, Rows, Tabled

OWN = Path("the explorer's own file")
Pages = int | Iterable[int]
# its process imports none of this package: a fork copies less
cloudpickle.register_pickle_by_value(explorer_child)


@dataclass(frozen=True, eq=False)
class Step:
    """What an action did. `mine` and `child` are page tables, `cache` is what the page cache holds
    of the file.

    minor, major, device_read_bytes: what the action cost the process that did it, getrusage(2) and
    proc_pid_io(5); None where not measured. value: the byte that `touch` read, or a tuple of bytes.
    """

    action: str
    mine: PageMap
    cache: PageCache
    child: PageMap | None = None
    minor: Count = None
    major: Count = None
    device_read_bytes: Count = None
    value: tuple[int, ...] | int | None = None

    def __repr__(self) -> str:
        child = "" if self.child is None else f"; the child's: {self.child!r}"
        return f"<{self.action}: mine {self.mine!r}; cache {self.cache!r}{child}>"


@dataclass(frozen=True, eq=False, repr=False)
class Film(Measured, Tabled, Sequence[Step]):
    """Steps in order; a slice is a Film. `machine`: where they were made."""

    form = "zero-copy film of pages"
    title = "Pages after each action, and what the action cost"
    steps: tuple[Step, ...]
    machine: Machine | None = None

    def __getitem__(self, at: int | slice) -> "Step | Film":
        return Film(self.steps[at], self.machine) if isinstance(at, slice) else self.steps[at]

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def missing(self) -> tuple[str, ...]:
        """("page states",) where this machine doesn't show them."""
        return ("page states",) if any(step.mine.states is None for step in self) else ()

    def table(self) -> Rows:
        forked = any(step.child is not None for step in self)
        header = (
            "action",
            "my page table",
            *(["the child's"] if forked else []),
            "page cache",
            "minor faults",
            "major faults",
            "read from the device",
        )
        rows = []
        for step in self:
            tables = map(_summary, (step.mine, step.child) if forked else (step.mine,))
            cache = step.cache
            costs = [in_words(faults, "count") for faults in (step.minor, step.major)]
            cached = (
                "not measured here"
                if cache.cached is None
                else f"{cache.count:,} of {len(cache):,}"
            )
            rows.append(
                (step.action, *tables, cached, *costs, in_words(step.device_read_bytes, "bytes"))
            )
        return header, rows


def _summary(pages: PageMap | None) -> str:
    if pages is None:
        return "–"
    if pages.states is None:
        return "not measured here"
    return (
        ", ".join(f"{count:,} {state.words}" for state, count in pages.counts.items()) or "no page"
    )


class Explorer(AbstractContextManager):
    """A private mapping of `pages` pages of `mmap.PAGESIZE` bytes, in a process made for it, and
    actions on it.

        with Explorer(16) as explorer:
            explorer.touch(3)
            explorer.write(5)
        explorer.film

    Each action returns a Step and adds it to `film`. The file is the explorer's own: page k is
    filled with byte k % 256. It's on the disk and not in the page cache (on tmpfs it is). It has no
    name, so nothing is left behind; until `close()`, `path` opens it. Threads that share an
    explorer take turns.

    Where pages can't be seen (`maps.why_not()`), nothing is started and every step says so. End it
    with `close()`, or let `with`, the garbage collector or the end of the program do that. An
    action raises RuntimeError when the process has ended, ValueError for pages that don't exist.
    OSError if there is no room for the file.
    """

    def __init__(self, pages: int = 16):
        self.pages = operator.index(pages)
        if self.pages < 1:
            raise ValueError(f"a mapping has at least 1 page, not {pages!r}")
        self.size = self.pages * PAGE
        self.shared = False
        self.path = OWN
        self.pid = self.address = self._child = 0
        self._steps: list[Step] = []
        self._reason, self._machine = maps.why_not(), here(folders.generated())
        self._at_end = ExitStack()
        self._end = weakref.finalize(self, _end, self._at_end, os.getpid())
        # An order, its answer and its place in the film belong together, and the process ends with
        # the thread that started it. So a single thread, which nobody interrupts, does all of that.
        self._thread = ThreadPoolExecutor(1, "explorer")
        try:
            if not self._reason:
                self._thread.submit(self._start).result()
            self._step("map", "map", False)
        except BaseException:
            self._thread.shutdown(cancel_futures=True)
            self.close()
            raise

    def _start(self) -> None:
        folder = folders.generated()
        check_free_space(folder, self.size, f"a file of {self.pages:,} pages")
        own = self._at_end.enter_context(tempfile.TemporaryFile(dir=folder))  # noqa: SIM115  it closes with the rest
        for page in range(self.pages):
            own.write(bytes([page % 256]) * PAGE)
        own.flush()
        os.fsync(own.fileno())
        file = own.fileno()
        self.path = Path(f"/proc/{os.getpid()}/fd/{file}")
        drop_from_cache(self.path)
        self._pipe, childs_end = Pipe()
        self._at_end.enter_context(self._pipe)
        with childs_end:
            descriptors = childs_end.fileno(), file
            spawned = spawn("the explorer", DEVNULL, descriptors=descriptors)
            self._process = self._at_end.enter_context(spawned)
        self._process.send(
            pickled(explorer_child.explore, (*descriptors, self.size), "the explorer")
        )
        self._process.greet("the explorer")
        self._process.allow(b"call")
        self.pid = self._process.mail.pid

    # --- actions ----------------------------------------------------------------------------------
    def touch(self, pages: Pages) -> Step:
        """Reads the first byte of each page; `value` is what it read."""
        return self._touch("touch", pages)

    def write(self, pages: Pages, value: int = 255) -> Step:
        """Writes `value` to the first byte of each page."""
        return self._write("write", "write", pages, value)

    def scan(self) -> Step:
        """Reads a byte of every page, from first to last."""
        return self._step("scan", "touch", range(self.pages))

    def scan_randomly(self) -> Step:
        """Reads a byte of every page, each once, in a shuffled order."""
        return self._step(
            "scan at random", "touch", random.Random(0).sample(range(self.pages), self.pages)
        )

    def advise(self, name: str) -> Step:
        """madvise(2) on the whole mapping: "normal", "random", "sequential", "willneed", …
        ValueError for others.
        """
        return self._step(f"advise {name}", "advise", number_of(name))

    def drop(self) -> Step:
        """Drops the process's pages, MADV_DONTNEED: a private mapping's edits are lost, the page
        cache stays.
        """
        return self._step("drop", "advise", ADVICE["dontneed"])

    def page_out(self) -> Step:
        """Takes pages away as memory pressure would, MADV_PAGEOUT: clean file pages go, edits only
        if there is swap.
        """
        return self._step("page out", "advise", ADVICE["pageout"])

    def evict(self) -> Step:
        """Asks the kernel to drop the file from the page cache, posix_fadvise(2): pages that a
        process maps stay.
        """
        return self._step("evict", "evict")

    def fork(self) -> Step:
        """Forks a child, which has the mapping too; the child of an earlier `fork` ends.

        Its faults come from the interpreter's own memory: whatever it writes next must first be
        copied, page by page.
        """
        return self._step("fork", "fork")

    def child_touch(self, pages: Pages) -> Step:
        """The forked child reads the first byte of each page. RuntimeError without a child."""
        return self._touch("child reads", pages, forked=True)

    def child_write(self, pages: Pages, value: int = 255) -> Step:
        """The forked child writes `value` to the first byte of each page. RuntimeError without a
        child.
        """
        return self._write("child writes", "write", pages, value, forked=True)

    def remap(self, *, shared: bool) -> Step:
        """Unmaps the file and maps it again, shared or private: the page table starts empty. A
        forked child ends.
        """
        if shared not in (True, False):
            raise TypeError(f"shared is True or False, not {shared!r}")
        return self._step("map shared" if shared else "map private", "map", bool(shared))

    def overwrite(self, pages: Pages, value: int) -> Step:
        """Fills whole pages of the file with `value` through write(2), as another program would."""
        return self._write("overwrite", "overwrite", pages, value)

    def sync(self) -> Step:
        """msync(2): a shared mapping's changes go to the disk; a private mapping's edits don't."""
        return self._step("sync", "sync")

    def close(self) -> None:
        """Ends the process and closes the file; the film stays."""
        self._end()

    # --- readings ---------------------------------------------------------------------------------
    @property
    def now(self) -> Step:
        return self._step("now", "look", keep=False)

    @property
    def film(self) -> Film:
        """Every step so far; the first is "map"."""
        return Film(tuple(self._steps), self._machine)

    def __repr__(self) -> str:
        kind = "shared" if self.shared else "private"
        ended = "" if self._end.alive else ", closed"
        pages = f"{self.pages:,} page{'s' if self.pages > 1 else ''}"
        return f"<Explorer: {pages} of {OWN}, {kind}, process {self.pid}{ended}>"

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- inside -----------------------------------------------------------------------------------
    def _touch(self, verb: str, pages: Pages, forked: bool = False) -> Step:
        numbers = self._numbers(pages)
        value = tuple if _several(pages) else operator.itemgetter(0)
        return self._step(
            f"{verb} {_listed(numbers)}", "touch", numbers, forked=forked, value=value
        )

    def _write(self, verb: str, order: str, pages: Pages, value: int, forked: bool = False) -> Step:
        numbers = self._numbers(pages)
        if not 0 <= operator.index(value) <= 255:
            raise ValueError(f"a byte is 0 to 255, not {value!r}")
        return self._step(
            f"{verb} {_listed(numbers)}", order, numbers, operator.index(value), forked=forked
        )

    def _numbers(self, pages: Pages) -> list[int]:
        numbers = [operator.index(page) for page in (pages if _several(pages) else [pages])]
        wrong = [number for number in numbers if not 0 <= number < self.pages]
        if wrong or not numbers:
            problem = f"there is no page {wrong[0]}" if wrong else "no page given"
            raise ValueError(f"{problem}; the mapping has pages 0 to {self.pages - 1:,}")
        return numbers

    def _step(self, action: str, *order: Any, keep: bool = True, **more: Any) -> Step:
        def step() -> Step:
            result = self._done(action, *order, **more)
            self._steps += [result] * keep
            return result

        return self._thread.submit(step).result()

    def _done(
        self,
        action: str,
        order: str,
        *what: Any,
        forked: bool = False,
        value: Callable = lambda _: None,
    ) -> Step:
        """Gives the order and reads what came of it; `value` turns the bytes it read into the
        Step's value.
        """
        if forked and not self._child:
            raise RuntimeError("there is no forked child; fork() makes one")
        if not self._end.alive:
            raise RuntimeError("this explorer is closed; make a new one with Explorer()")
        if self._reason:
            self._child = {"fork": -1, "map": 0}.get(order, self._child)
        else:
            cost, read, self.address, self._child = self._answer(action, forked, order, *what)
        if order == "map":
            (self.shared,) = what
        if self._reason:
            pages = PageMap(None, 0, PAGE, self._reason)
            cache = PageCache(OWN, self.size, None, self._reason)
            return Step(action, pages, cache, pages if self._child else None)
        before = None
        cache = page_cache(self.path)
        until = time.monotonic() + 0.2
        # mincore(2) counts read-ahead that is still on its way as absent.
        while cost["device_read_bytes"] and time.monotonic() < until and before != cache.count:
            time.sleep(0.003)
            before = cache.count
            cache = page_cache(self.path)
        try:
            mine = page_map(pid=self.pid, address=self.address, size=self.size)
        except (OSError, ValueError):
            self._answer(action, False, "look")  # says so if the process has ended since the answer
            raise
        child = None
        if self._child:
            with suppress(OSError, ValueError):  # the child has ended since the answer
                child = page_map(pid=self._child, address=self.address, size=self.size)
        return Step(action, mine, replace(cache, path=OWN), child, **cost, value=value(read))

    def _answer(self, action: str, *order: Any) -> tuple:
        try:
            self._pipe.send(order)
            answer = self._pipe.recv()
        except (OSError, EOFError) as error:
            self._process.report(time.perf_counter() + 1)
            self._process.leave()
            ended = self._process.ended
            raise RuntimeError(
                f"the explorer's process has ended ({ended}); make a new Explorer"
            ) from error
        if isinstance(answer, OSError):
            raise OSError(answer.errno, f"{action}: {answer.strerror}")
        if isinstance(answer, Exception):
            raise RuntimeError(f"{action}: {answer}")
        return answer


def _end(at_end: ExitStack, owner: int) -> None:
    """Does nothing in a fork of the process that made the explorer."""
    if os.getpid() == owner:
        at_end.close()


def _listed(numbers: Sequence[int]) -> str:
    """ "3", "3, 7 and 9", "0 to 15", "64 pages": short enough for a title."""
    numbers = list(dict.fromkeys(numbers))
    if len(numbers) > 2 and numbers == list(range(numbers[0], numbers[0] + len(numbers))):
        return f"{numbers[0]} to {numbers[-1]}"
    if len(numbers) > 3:
        return f"{len(numbers):,} pages"
    return " and ".join(filter(None, (", ".join(map(str, numbers[:-1])), str(numbers[-1]))))


def _several(pages: Pages) -> bool:
    """An array with no dimension is a single page, though it has an `__iter__`."""
    return isinstance(pages, Iterable) and getattr(pages, "ndim", 1) > 0
