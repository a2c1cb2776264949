"""The page cache: which pages of a file the kernel holds in memory, no matter who asked for them."""

import ctypes
import mmap
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..folders import in_memory
from ..units import in_words
from ..whole import regular_file
from . import maps
from .machine import here
from .plain import from_run_lengths, reading, run_lengths

FORMAT, VERSION = "zero-copy page cache", 1
CACHESTAT = 451  # on every architecture, Linux 6.5 and later
COUNTED = ("dirty", "writeback", "evicted", "recently_evicted")
MOST = 4096  # pages of which each is asked whether it's dirty: a few milliseconds
PATIENCE = 1.0  # seconds: pages on their way to the disk can be dropped a moment later


@dataclass(frozen=True, eq=False)
class PageCache:
    """What the page cache held of a file, at one moment.

    size     bytes of the file
    cached   (pages,) bool, for each page of the file, in order; None where the kernel doesn't tell
    dirty, writeback            pages not yet on the disk, and pages on their way there
    evicted, recently_evicted   pages dropped for lack of memory, and how many of those would have been used again
    dirty_pages   (pages,) bool, which pages are dirty; None if none is, or for more than MOST pages
    why      what the kernel didn't tell, or (after `drop_from_cache`) what stayed and why; else ""

    The four counts come from cachestat(2); None where it's missing or disagrees with mincore(2). Pages that the kernel
    keeps together (a large folio) count together: one byte written can make 64 of them dirty.
    """

    path: Path
    size: int
    cached: np.ndarray | None
    why: str = ""
    dirty: int | None = None
    writeback: int | None = None
    evicted: int | None = None
    recently_evicted: int | None = None
    dirty_pages: np.ndarray | None = None

    def __len__(self) -> int:
        """Pages of the file."""
        return -(-self.size // mmap.PAGESIZE) if self.cached is None else len(self.cached)

    @property
    def count(self) -> int | None:
        """Pages in memory; None if not measured."""
        return None if self.cached is None else int(self.cached.sum())

    @property
    def share(self) -> float | None:
        """How much of the file is in memory, between 0 and 1; None if not measured."""
        return None if self.cached is None else float(self.cached.mean()) if self.size else 0.0

    def __repr__(self) -> str:
        if self.cached is None:
            seen = f"not measured here: {self.why}"
        else:
            dirty = f", {self.dirty:,} pages not yet on the disk" if self.dirty else ""
            seen = f"{self.share:.0%} in the page cache{dirty}"
        return f"<{self.path.name}, {in_words(self.size, 'bytes')}: {seen}>"

    # --- as JSON ------------------------------------------------------------------------------------------
    def to_json(self) -> dict:
        """Plain data: the file's name without its folder, and equal neighbours as a run, [cached, pages]."""
        plain = {name: getattr(self, name) for name in ("size", "why", *COUNTED)}
        plain |= {
            "path": self.path.name,
            "runs": run_lengths(self.cached),
            "dirty_pages": run_lengths(self.dirty_pages),
        }
        return {"format": FORMAT, "version": VERSION, **plain}

    @classmethod
    def from_json(cls, plain: Mapping) -> "PageCache":
        """The inverse of `to_json`; ValueError for anything that `to_json` didn't write."""
        with reading(plain, FORMAT, VERSION):
            made = {name: plain[name] for name in ("size", "why", *COUNTED)}
            made |= {"dirty_pages": from_run_lengths(plain.get("dirty_pages"), bool, bool)}
            return cls(path=Path(plain["path"]), cached=from_run_lengths(plain["runs"], bool, bool), **made)


def page_cache(path: str | os.PathLike) -> PageCache:
    """What the page cache holds of a file, by mincore(2) on a mapping made for that; looking brings nothing in.

    The kernel tells only users who own the file or may write to it (Linux 5.2): others get `cached=None` and a reason.
    """
    path = Path(path)
    status = path.stat()
    size = status.st_size
    if sys.platform != "linux":
        return PageCache(path, size, None, f"we call mincore(2) on Linux only, and this is {sys.platform}")
    if status.st_uid != os.geteuid() and not os.access(path, os.W_OK):
        return PageCache(path, size, None, "the kernel tells only users who own the file or may write to it")
    states = np.zeros(-(-size // mmap.PAGESIZE), np.uint8)
    if not size:
        return PageCache(path, size, states.astype(bool), "", 0, 0, 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    with open(path, "rb") as file:
        with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as mapping:
            start = np.frombuffer(mapping, np.uint8).ctypes.data  # the view is gone before the mapping is closed
            if libc.mincore(ctypes.c_void_p(start), ctypes.c_size_t(size), ctypes.c_void_p(states.ctypes.data)):
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number), str(path))
        cached = (states & 1).astype(bool)
        counts, why = _cachestat(libc, file.fileno(), bool(cached.any()))
        dirty = None
        if counts[0] and len(states) <= MOST:
            each = (_counts(libc, file.fileno(), page * mmap.PAGESIZE, mmap.PAGESIZE) for page in range(len(states)))
            dirty = np.array([bool(one and one.dirty) for one in each])
    return PageCache(path, size, cached, why, *counts, dirty)


def drop_from_cache(path: str | os.PathLike) -> PageCache:
    """Writes dirty pages to the disk, then asks the kernel to drop the file's pages: fsync(2), posix_fadvise(2).

    Returns what the page cache holds afterwards. Pages that a process maps, or that have nowhere else to be, stay:
    that's no error, and `why` says how many and why ("" if none did). OSError as for opening the file.
    """
    until = time.monotonic() + PATIENCE
    with regular_file(path) as file:
        os.fsync(file.fileno())
        while True:
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            seen = page_cache(path)
            if not seen.count:
                break
            holders, system = _mapped_by(path), here(path).file_system
            if holders or in_memory(system) or time.monotonic() > until:
                break
            time.sleep(0.01)
    if seen.cached is None:
        return seen
    return replace(seen, why=_staying(seen.count, holders, system) if seen.count else "")


class _Range(ctypes.Structure):
    _fields_ = (("offset", ctypes.c_uint64), ("length", ctypes.c_uint64))  # length 0: to the end


class _Counts(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("cached", *COUNTED))


def _cachestat(libc: ctypes.CDLL, file: int, some: bool) -> tuple[tuple[int | None, ...], str]:
    """The four counts, or four None and why. `some`: mincore(2) saw pages. cachestat(2)."""
    counts = _counts(libc, file, 0, 0)
    if counts is None:
        why = f"dirty and evicted pages are not known: cachestat(2): {os.strerror(ctypes.get_errno())}"
    elif some and not counts.cached:  # it looks at overlayfs's own file, but the pages belong to the file below
        why = "dirty and evicted pages are not known: cachestat(2) sees no page where mincore(2) sees some"
    else:
        return tuple(getattr(counts, name) for name in COUNTED), ""
    return (None,) * len(COUNTED), why


def _counts(libc: ctypes.CDLL, file: int, offset: int, length: int) -> _Counts | None:
    part, counts = _Range(offset, length), _Counts()
    failed = libc.syscall(CACHESTAT, ctypes.c_uint(file), ctypes.byref(part), ctypes.byref(counts), ctypes.c_uint(0))
    return None if failed else counts


def _mapped_by(path: str | os.PathLike) -> tuple[str, ...]:
    """The processes that map the file, of those that we may look at: "this process", "python3 (1234)"."""
    found, holders = os.stat(path), []
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()) if os.path.isdir("/proc") else ():
        try:
            names = {region.path for region in maps.regions(pid) if region.inode == found.st_ino}
            if any(os.path.samestat(os.stat(name), found) for name in names if os.path.exists(name)):
                name = Path(f"/proc/{pid}/comm").read_text().strip()
                holders.append("this process" if pid == os.getpid() else f"{name} ({pid})")
        except OSError:  # it has ended, or belongs to another user
            continue
    return tuple(holders)


def _staying(pages: int, holders: tuple[str, ...], system: str | None) -> str:
    if holders:
        because = f"mapped by {', '.join(holders)}"
    elif in_memory(system):
        because = f"a file on {system} exists nowhere else"
    else:
        because = "mapped, locked or in use right now"
    return f"{pages:,} page{'s stay' if pages > 1 else ' stays'}: {because}"
