"""The page explorer: a small file, mapped by a process made for it, and what the kernel says of its pages.

`Explorer` does one thing at a time (touch a page, write one, drop, evict, fork) and reads back after each what this
process's page table holds, what the page cache holds, and what it cost: a `Step`. All steps together are a `Film`.
The mapping lives in a process of its own, explorer_child.py, because a notebook's kernel must not fork.
"""

import errno
import json
import mmap
import operator
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import folders
from ..units import in_words
from . import maps
from .advice import ADVICE
from .cache import PageCache, drop_from_cache, page_cache
from .film import Film, Step
from .machine import here
from .pages import PageMap, page_map

CHILD = Path(__file__).with_name("explorer_child.py")
OWN = Path("the explorer's own file")
PAGE = mmap.PAGESIZE


class Explorer:
    """A mapping of `pages` pages, each of `mmap.PAGESIZE` bytes, in a process made for it, and actions on it.

        with Explorer(16) as explorer:
            explorer.touch(3)
            explorer.write(5)
        explorer.film

    Each action returns a Step and adds it to `film`. Without `path` the file is the explorer's own: page k is filled
    with byte k % 256, it is on the disk and not in the page cache, and it has no name, so that nothing is left behind
    whatever happens; `path` opens it meanwhile. (A file system in memory, tmpfs, keeps it in the page cache.) With a
    `path` it is that file, opened for reading only and never changed. Without `pages` it is 16 pages, or all of the
    `path`. The mapping is private (edits stay in memory) unless `shared`. Threads that use one explorer take turns.

    Where pages cannot be seen (`maps.why_not()`), nothing is started and every step says so. Leave it with `close()`,
    or let `with`, the garbage collector or the end of the program do it. RuntimeError from an action when the process
    has ended; ValueError for pages that are not there; PermissionError for what would change a file of others.
    """

    def __init__(self, pages: int | None = None, *, path: str | os.PathLike | None = None, shared: bool = False):
        self.own, self.shared, self.address = path is None, _truth(shared), 0
        self._turn = threading.RLock()  # an order, its answer and its place in the film belong together
        self._number = self._child = 0
        self._steps: list[Step] = []
        self._why, self._end = maps.why_not(), None
        if path is not None:
            self._name = Path(path).resolve()
            size = _regular(self._name).st_size
            there = -(-size // PAGE)
            self.pages = there if pages is None else operator.index(pages)
            if not 1 <= self.pages <= there:
                raise ValueError(f"{self._name.name} has {_counted(there)} of {PAGE} bytes, so not pages={pages!r}")
            self.size = min(size, self.pages * PAGE)
        else:
            self._name, self.pages = OWN, operator.index(16 if pages is None else pages)
            if self.pages < 1:
                raise ValueError(f"a mapping has at least 1 page, not {pages!r}")
            self.size = self.pages * PAGE
        self.pid, self.path = 0, self._name
        self._machine = here(folders.generated() if self.own else self._name)
        try:
            if not self._why:
                self._start()
            self._step("map shared" if self.shared else "map", "map", shared=self.shared)
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        file = _own_file(self.pages) if self.own else os.open(self._name, os.O_RDONLY)
        try:
            command = [sys.executable, "-I", "-S", str(CHILD), *map(str, (file, self.size, int(self.own), os.getpid()))]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                pass_fds=[file], start_new_session=True,
            )  # fmt: skip
        except BaseException:
            os.close(file)
            raise
        self._end = weakref.finalize(self, _end, self._process, file, os.getpid())
        self.pid = self._process.pid
        # On one processor: a page just read waits in a list of the processor that read it, and cannot be paged out from
        # another one until that list is full. sched_setaffinity(2)
        with suppress(OSError):
            os.sched_setaffinity(self.pid, {min(os.sched_getaffinity(0))})
        self._seen = Path(f"/proc/{os.getpid()}/fd/{file}")  # the file itself, whatever becomes of its name
        if self.own:
            self.path = self._seen
            drop_from_cache(self._seen)
        self._file = file

    # --- actions --------------------------------------------------------------------------------------------
    def touch(self, pages: int | Iterable[int]) -> Step:
        """Reads the first byte of each page; `value` is what it read."""
        return self._touch("touch", pages)

    def write(self, pages: int | Iterable[int], value: int = 255) -> Step:
        """Writes `value` to the first byte of each page."""
        return self._write("write", pages, value)

    def scan(self) -> Step:
        """Reads a byte of every page, forwards."""
        return self._step("scan", "touch", pages=None, quiet=True)

    def scan_randomly(self, count: int | None = None, seed: int = 0) -> Step:
        """Reads a byte of `count` pages (every page, by default), each once, in an order drawn from `seed`."""
        count = self.pages if count is None else operator.index(count)
        if not 0 < count <= self.pages:
            raise ValueError(f"count={count} pages cannot be drawn; the mapping has {self.pages:,}")
        chosen = random.Random(seed).sample(range(self.pages), count)
        action = "scan at random" if count == self.pages else f"touch {_counted(count)} at random"
        return self._step(action, "touch", pages=chosen, quiet=True)

    def advise(self, name: str) -> Step:
        """madvise(2) on the whole mapping: "normal", "random", "sequential", "willneed", … ValueError for others."""
        return self._advise(f"advise {name}", name)

    def drop(self) -> Step:
        """Drops this process's pages, MADV_DONTNEED: a private mapping's edits are lost, the page cache stays."""
        return self._advise("drop", "dontneed")

    def page_out(self) -> Step:
        """Takes pages away as memory pressure would, MADV_PAGEOUT: clean file pages go, edits need swap to go to."""
        return self._advise("page out", "pageout")

    def evict(self) -> Step:
        """Asks the kernel to drop the file from the page cache, posix_fadvise(2): pages that somebody maps stay."""
        if not self._why:
            self._alive()
            _evict(self._file)
        return self._step("evict", "look")

    def fork(self) -> Step:
        """Forks a child, which has the mapping too; the child of an earlier `fork` ends.

        What it costs in faults is the interpreter's own memory: what it writes next must be copied first, page by page.
        """
        return self._step("fork", "fork")

    def child_touch(self, pages: int | Iterable[int]) -> Step:
        """The forked child reads the first byte of each page. RuntimeError without a child."""
        return self._touch("child reads", pages, forked=True)

    def child_write(self, pages: int | Iterable[int], value: int = 255) -> Step:
        """The forked child writes `value` to the first byte of each page. RuntimeError without a child."""
        return self._write("child writes", pages, value, forked=True)

    def remap(self, *, shared: bool) -> Step:
        """Unmaps and maps anew, shared or private: the page table starts empty. A forked child ends."""
        shared = _truth(shared)
        return self._step("map shared" if shared else "map private", "map", shared=shared)

    def overwrite(self, pages: int | Iterable[int], value: int) -> Step:
        """Fills whole pages of the file with `value` through write(2), as another program would. Own file only."""
        self._may_change()
        numbers = self._numbers(pages)
        return self._step(f"overwrite {_these(numbers)}", "overwrite", pages=numbers, value=_byte(value))

    def sync(self) -> Step:
        """msync(2): what a shared mapping has changed goes to the disk; a private one's edits do not."""
        return self._step("sync", "sync")

    def close(self) -> None:
        """Ends the process and closes the file; the film stays."""
        if self._end:
            self._end()

    # --- readings -------------------------------------------------------------------------------------------
    @property
    def now(self) -> Step:
        """The state as it is, read afresh; not kept in the film."""
        with self._turn:
            return self._read("now", self._ask("now", "look", {})["cost"], None)

    @property
    def film(self) -> Film:
        """Every step so far; the first is "map"."""
        return Film(self._steps, self._machine)

    def __repr__(self) -> str:
        kind = "shared" if self.shared else "private"
        ended = "" if self._why or self._end.alive else ", closed"
        return f"<Explorer: {_counted(self.pages)} of {self._name.name}, {kind}, process {self.pid}{ended}>"

    def __enter__(self) -> "Explorer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- inside ---------------------------------------------------------------------------------------------
    def _touch(self, word: str, pages: int | Iterable[int], forked: bool = False) -> Step:
        numbers = self._numbers(pages)
        one = not _many(pages)
        return self._step(f"{word} {_these(numbers)}", "touch", pages=numbers, forked=forked, one=one)

    def _write(self, word: str, pages: int | Iterable[int], value: int, forked: bool = False) -> Step:
        if self.shared:
            self._may_change()
        numbers = self._numbers(pages)
        return self._step(f"{word} {_these(numbers)}", "write", pages=numbers, value=_byte(value), forked=forked)

    def _advise(self, action: str, name: str) -> Step:
        if name not in ADVICE:
            raise ValueError(f"no advice {name!r}; there are: {', '.join(ADVICE)}")
        return self._step(action, "advise", advice=ADVICE[name])

    def _may_change(self) -> None:
        if not self.own:
            raise PermissionError(
                errno.EPERM,
                "this would change a file that is not the explorer's own; write through a private mapping, "
                "remap(shared=False), or leave out path=",
                str(self._name),
            )

    def _numbers(self, pages: int | Iterable[int]) -> list[int]:
        numbers = [operator.index(page) for page in (pages if _many(pages) else [pages])]
        if not numbers:
            raise ValueError(f"no page is named; there are 0 to {self.pages - 1:,}")
        for number in numbers:
            if not 0 <= number < self.pages:
                raise ValueError(f"there is no page {number}; the mapping has pages 0 to {self.pages - 1:,}")
        return numbers

    def _step(
        self, action: str, order: str, *, quiet: bool = False, one: bool = False, forked: bool = False, **what: Any
    ) -> Step:
        """Gives the order, reads what came of it, keeps it."""
        with self._turn:
            if forked and not self._child:
                raise RuntimeError("there is no child, or none any more; fork() makes one")
            answer = self._ask(action, order, what | {"forked": forked})
            value = answer["value"]
            value = None if quiet or value is None else value[0] if one else tuple(value)
            step = self._read(action, answer["cost"], value)
            self._steps.append(step)
            return step

    def _ask(self, action: str, order: str, what: Mapping) -> dict:
        """One order, and its answer. An order before it may have been interrupted: half of it may be in the pipe, so
        this one begins on a new line; and its answer may wait there, whole or in part, and is passed over."""
        if self._why:
            self.shared = what.get("shared", self.shared)
            self._child = {"fork": -1, "map": 0}.get(order, self._child)
            return {"cost": {}, "value": None}
        self._alive()
        self._number += 1
        line = b""
        with suppress(BrokenPipeError):
            message = {"number": self._number, "order": order, **what}
            self._process.stdin.write(b"\n" + json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
            while line := self._process.stdout.readline():
                with suppress(ValueError):
                    answer = json.loads(line)
                    if answer["number"] == self._number:
                        break
        if not line:
            self._process.wait()
            self._alive()
        self.address, self.shared, self._child = answer["address"], answer["shared"], answer["child"]
        if "error" in answer:
            name, text = answer["error"]
            if name == "ChildProcessError":
                raise RuntimeError(f"{action}: {text}")
            if number := answer["errno"]:
                raise OSError(number, f"{action}: {os.strerror(number)}")
            raise RuntimeError(f"{action}: {name}: {text}")
        return answer

    def _alive(self) -> None:
        """RuntimeError where there is no process any more."""
        if not self._end.alive:
            raise RuntimeError("this explorer is closed; make a new one with Explorer()")
        code = self._process.poll()
        if code is not None:
            how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            told = self._process.stderr.read().decode(errors="replace").strip() if code > 0 else ""
            cut = f": {self._name.name} has been cut short meanwhile" if how == "SIGBUS" else ""
            raise RuntimeError(f"the explorer's process has ended ({how}{cut}); make a new Explorer. {told}".strip())

    def _read(self, action: str, cost: Mapping[str, int | None], value: Any) -> Step:
        if self._why:
            nothing = PageMap(None, 0, PAGE, self._why)
            cache = PageCache(self._name, self.size, None, self._why)
            return Step(action, nothing, cache, nothing if self._child else None, value=value)
        cache = self._settled() if cost.get("device_read_bytes") else page_cache(self._seen)
        try:
            mine = page_map(pid=self.pid, address=self.address, size=self.size)
        except (OSError, ValueError):
            self._alive()  # it may have ended since the answer
            raise
        child = None
        if self._child:
            with suppress(OSError, ValueError):  # it has ended since the answer
                child = page_map(pid=self._child, address=self.address, size=self.size)
        return Step(action, mine, replace(cache, path=self._name), child, **cost, value=value)

    def _settled(self) -> PageCache:
        """The page cache when read-ahead has arrived: what is still on its way counts as absent, mincore(2)."""
        until = time.monotonic() + 0.2
        cache = page_cache(self._seen)
        while time.monotonic() < until:
            time.sleep(0.003)
            before, cache = cache, page_cache(self._seen)
            if cache.count == before.count:
                break
        return cache


def _end(process: subprocess.Popen, file: int, owner: int) -> None:
    """Ends the process, whose forked child ends with it. In a fork of the process that made it, does nothing."""
    if os.getpid() != owner:
        return
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        with suppress(OSError):  # an order that was never read
            stream.close()
    os.close(file)


# --- the file ----------------------------------------------------------------------------------------------
def _own_file(pages: int) -> int:
    """A descriptor of a file without a name, of `pages` pages, page k filled with byte k % 256; it is on the disk."""
    folder = folders.generated()
    free = shutil.disk_usage(folder).free
    if pages * PAGE > free:
        needed = in_words(pages * PAGE, "bytes")
        text = f"{pages:,} pages need {needed}, and {in_words(free, 'bytes')} are free; make room in"
        raise OSError(errno.ENOSPC, text, str(folder))
    try:
        file = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)  # never had a name, open(2)
    except OSError:  # a file system without such files
        file, name = tempfile.mkstemp(prefix="explorer-", dir=folder)
        os.unlink(name)
    try:
        pattern = b"".join(bytes([k]) * PAGE for k in range(256))
        for first in range(0, pages, 256):
            left = memoryview(pattern)[: (pages - first) * PAGE]
            while left:
                left = left[os.write(file, left) :]
        os.fsync(file)
    except BaseException:
        os.close(file)
        raise
    return file


def _evict(file: int) -> None:
    """posix_fadvise(2), after fsync(2), for what is not yet written stays. `drop_from_cache` would wait, and ask who
    has the pages mapped: here that is known, and they may stay."""
    with suppress(OSError):  # a file of others, on a system that may only be read
        os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)


def _regular(path: Path) -> os.stat_result:
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise ValueError(f"{path} is no regular file; its pages cannot be explored")
    if not found.st_size:
        raise ValueError(f"{path} is empty; there is no page to map")
    return found


# --- words -------------------------------------------------------------------------------------------------
def _these(numbers: Sequence[int]) -> str:
    """ "3", "3, 7 and 9", "0 to 15", "64 pages": short enough for a title."""
    numbers = list(dict.fromkeys(numbers))
    if len(numbers) > 2 and numbers == list(range(numbers[0], numbers[0] + len(numbers))):
        return f"{numbers[0]} to {numbers[-1]}"
    if len(numbers) > 3:
        return _counted(len(numbers))
    return " and ".join(filter(None, (", ".join(map(str, numbers[:-1])), str(numbers[-1]))))


def _counted(pages: int) -> str:
    return f"{pages:,} page{'s' if pages > 1 else ''}"


def _many(pages: int | Iterable[int]) -> bool:
    """Several, or one? An array without a dimension is one, though it has an `__iter__`."""
    return isinstance(pages, Iterable) and getattr(pages, "ndim", 1) > 0


def _truth(shared: bool) -> bool:
    if shared not in (True, False):
        raise TypeError(f"shared is True or False, not {shared!r}")
    return bool(shared)


def _byte(value: int) -> int:
    if not 0 <= operator.index(value) <= 255:
        raise ValueError(f"a byte is 0 to 255, not {value!r}")
    return operator.index(value)
