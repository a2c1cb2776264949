"""The page cache: which pages of a file the kernel holds in memory, no matter who asked for
them.
"""

import ctypes
import mmap
import os
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from .. import libc
from ..folders import file_system, in_memory
from ..safe_files import regular_file
from ..units import in_words
from . import maps
from .jsonable import Measured
from .tables import Count

CACHESTAT = 451  # on every architecture, Linux 6.5 and later
MOST_ASKED = 4096  # pages of which each is asked whether it's dirty: a few milliseconds
TIMEOUT_S = 1.0  # pages on their way to the disk can be dropped a moment later


@dataclass(frozen=True, eq=False)
class PageCache(Measured):
    """What the page cache held of a file, at one moment.

    size     bytes of the file
    cached   (pages,) bool, for each page of the file, in order; None where the kernel doesn't tell
    dirty, writeback   pages not yet on the disk, and pages on their way there
    dirty_pages   (pages,) bool, which pages are dirty; None if none is, or for more than MOST_ASKED
                  pages
    why      what the kernel didn't tell, or (after `drop_from_cache`) what stayed and why; else ""

    Both counts come from cachestat(2); None where it's missing or disagrees with mincore(2). Pages
    that the kernel keeps together (a large folio) count together: one byte written can make 64 of
    them dirty.
    """

    form = "zero-copy page cache"
    runs = (("cached", "runs", bool), ("dirty_pages", "dirty_pages", bool))
    path: Path
    size: int
    cached: np.ndarray | None
    why: str = ""
    dirty: Count = None
    writeback: Count = None
    dirty_pages: np.ndarray | None = None

    def __len__(self) -> int:
        return -(-self.size // mmap.PAGESIZE) if self.cached is None else len(self.cached)

    @property
    def count(self) -> Count:
        """Pages in memory; None if not measured."""
        return None if self.cached is None else int(self.cached.sum())

    @property
    def share(self) -> float | None:
        """How much of the file is in memory, between 0 and 1; None if not measured."""
        return None if self.cached is None else float(self.cached.mean()) if self.size else 0.0

    def __repr__(self) -> str:
        if self.cached is None:
            state = f"not measured here: {self.why}"
        else:
            dirty = f", {self.dirty:,} pages not yet on the disk" if self.dirty else ""
            state = f"{self.share:.0%} in the page cache{dirty}"
        return f"<{self.path.name}, {in_words(self.size, 'bytes')}: {state}>"


def page_cache(path: str | os.PathLike) -> PageCache:
    """What the page cache holds of a file, by mincore(2) on a mapping made for that; looking brings
    nothing in.

    The kernel tells only users who own the file or may write to it (Linux 5.2): others get
    `cached=None` and a reason.
    """
    path = Path(path)
    status = path.stat()
    size = status.st_size
    if sys.platform != "linux":
        return PageCache(
            path, size, None, f"we call mincore(2) on Linux only, and this is {sys.platform}"
        )
    if status.st_uid != os.geteuid() and not os.access(path, os.W_OK):
        return PageCache(
            path, size, None, "the kernel tells only users who own the file or may write to it"
        )
    states = np.zeros(-(-size // mmap.PAGESIZE), np.uint8)
    if not size:
        return PageCache(path, size, states.astype(bool), "", 0, 0)
    with open(path, "rb") as file:
        with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as mapping:
            # the view is gone before the mapping is closed
            start = np.frombuffer(mapping, np.uint8).ctypes.data
            into = ctypes.c_void_p(states.ctypes.data)
            libc.call(
                "mincore", ctypes.c_void_p(start), ctypes.c_size_t(size), into, about=str(path)
            )
        cached = (states & 1).astype(bool)
        counts = _cachestat(file.fileno())
        reason = ""
        if counts is None:
            reason = f"cachestat(2): {os.strerror(ctypes.get_errno())}"
        # it looks at overlayfs's own file, but the pages belong to the file below
        elif cached.any() and not counts[0]:
            reason = "cachestat(2) sees no page where mincore(2) sees some"
        if reason:
            return PageCache(path, size, cached, f"dirty pages are not known: {reason}")
        dirty = None
        if counts[1] and len(states) <= MOST_ASKED:
            each = (
                _cachestat(file.fileno(), page * mmap.PAGESIZE, mmap.PAGESIZE)
                for page in range(len(states))
            )
            dirty = np.array([bool(one and one[1]) for one in each])
    return PageCache(path, size, cached, "", counts[1], counts[2], dirty)


def drop_from_cache(path: str | os.PathLike) -> PageCache:
    """Writes dirty pages to the disk, then asks the kernel to drop the file's pages: fsync(2),
    posix_fadvise(2).

    Returns what the page cache holds afterwards. Mapped pages stay, and so do files on tmpfs. That
    isn't an error; `why` counts them and gives the reason ("" if none stayed). OSError as for
    opening the file.
    """
    until = time.monotonic() + TIMEOUT_S
    with regular_file(path) as file:
        os.fsync(file.fileno())
        while True:
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            cache = page_cache(path)
            if not cache.count:
                break
            because = "mapped, locked or in use right now"
            system = file_system(path)
            names = maps.processes_that_map(path)[0] if os.path.isdir("/proc") else {}
            if names:
                who = [
                    "this process" if pid == os.getpid() else f"{name} ({pid})"
                    for pid, name in names.items()
                ]
                because = f"mapped by {', '.join(who)}"
            elif in_memory(system):
                because = f"a file on {system} exists nowhere else"
            elif time.monotonic() < until:
                time.sleep(0.01)
                continue
            stay = f"{cache.count:,} page{'s stay' if cache.count > 1 else ' stays'}"
            return replace(cache, why=f"{stay}: {because}")
    return cache if cache.cached is None else replace(cache, why="")


def _cachestat(file: int, offset: int = 0, length: int = 0) -> tuple[int, int, int] | None:
    """Pages that are cached, dirty, and on their way to the disk, cachestat(2); None if it refuses.
    0: to the end.
    """
    part = (ctypes.c_uint64 * 2)(offset, length)
    counts = (ctypes.c_uint64 * 5)()
    refused = libc.libc().syscall(CACHESTAT, ctypes.c_uint(file), part, counts, ctypes.c_uint(0))
    return None if refused else tuple(counts[:3])
