"""What each page of a stretch of memory is: absent, a file's, shared memory, or anonymous.
proc_pid_pagemap(5).

It needs no root: the kernel hides where in the machine a page lies, but still tells what it is.
"""

import mmap
import os
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from . import maps
from .jsonable import Measured
from .tables import Count

# bits 63, 62, 61, 56, in the highest of 8 bytes
PRESENT, SWAPPED, OF_FILE, EXCLUSIVE = (0x80, 0x40, 0x20, 0x01)


class PageState(IntEnum):
    """What a process has at a page. FILE pages are lent; SHARED pages, which no disk holds, and
    anonymous ones must be kept.

    FORKED is an anonymous page that a relative maps too, after a fork, until one of them writes. So
    is the kernel's page of zeros, which stands in for anonymous memory that was read and never
    written.
    """

    ABSENT = 0
    FILE = 1
    SHARED = 2
    ANONYMOUS = 3
    FORKED = 4
    SWAPPED = 5

    @property
    def words(self) -> str:
        return (
            "absent",
            "file-backed",
            "shared memory",
            "anonymous",
            "anonymous, still shared",
            "swapped out",
        )[self]


BITS = np.arange(256)
STATE_OF = np.where(BITS & SWAPPED, PageState.SWAPPED, PageState.ABSENT).astype(np.uint8)
STATE_OF[BITS & PRESENT > 0] = PageState.FORKED
STATE_OF[BITS & (PRESENT | EXCLUSIVE) == PRESENT | EXCLUSIVE] = PageState.ANONYMOUS
STATE_OF[BITS & (PRESENT | OF_FILE) == PRESENT | OF_FILE] = PageState.FILE


@dataclass(frozen=True, eq=False)
class PageMap(Measured):
    """The pages of a buffer, first to last, at one moment.

    states     (pages,) uint8, each a PageState; None where pages can't be read, and `why` says why
    address    of the first page's first byte, in the process that was looked at
    page_size  bytes
    region     the mapping at the first page; None if nothing is mapped there, or this was read from
               JSON
    """

    form = "zero-copy page map"
    apart = ("region",)
    runs = (("states", "runs", PageState),)
    states: np.ndarray | None
    address: int = 0
    page_size: int = 4096
    why: str = ""
    region: maps.Region | None = None

    def __len__(self) -> int:
        """Pages; 0 where they can't be read."""
        return 0 if self.states is None else len(self.states)

    def which(self, *states: PageState) -> np.ndarray | None:
        """The indices of the pages in any of these states, (n,) int; None if not measured."""
        return None if self.states is None else np.flatnonzero(np.isin(self.states, states))

    def count(self, *states: PageState) -> Count:
        """How many pages are in any of these states; None if not measured."""
        return (
            None
            if self.states is None
            else sum(self.counts.get(PageState(state), 0) for state in set(states))
        )

    @property
    def counts(self) -> dict[PageState, int]:
        """Pages by state, only states that occur; {} if not measured."""
        if self.states is None:
            return {}
        return {PageState(state): int(n) for state, n in enumerate(np.bincount(self.states)) if n}

    @property
    def present(self) -> Count:
        """Pages in memory; None if not measured."""
        return self.count(PageState.FILE, PageState.SHARED, PageState.ANONYMOUS, PageState.FORKED)

    def __repr__(self) -> str:
        if self.states is None:
            return f"<page map: not measured here: {self.why}>"
        absent_last = sorted(self.counts.items(), key=lambda item: item[0] == PageState.ABSENT)
        counts = ", ".join(f"{count:,} {state.words}" for state, count in absent_last)
        return f"<{len(self):,} page{'s' * (len(self) != 1)}: {counts}>"


def page_map(
    buffer: Any = None,
    *,
    pid: Count = None,
    address: Count = None,
    size: Count = None,
) -> PageMap:
    """The state of each page under `buffer`, which is an array, memoryview, mmap, or anything else
    with a buffer.

    An array with gaps between its elements counts from its lowest byte to its highest. For another
    process of yours, give `pid`, `address` and `size` (bytes) instead. Looking brings no page in.
    ValueError: nothing is mapped there, or nothing to look at. TypeError: not a buffer.
    ProcessLookupError, PermissionError: no such process, or not yours.
    """
    if (buffer is None) == (address is None) or (address is None) != (size is None):
        raise TypeError(
            "give a buffer of this process, or an address and size (and a pid, for another process)"
        )
    if buffer is not None and pid is not None:
        raise TypeError(
            "a buffer is this process's own; for another process give pid, address and size instead"
        )
    if buffer is not None:
        address, size = extent(buffer)
    if size <= 0 or address < 0:
        raise ValueError(
            f"no pages in {size} bytes at address {address}: give a size of at least 1"
        )
    page = mmap.PAGESIZE
    if reason := maps.why_not():
        return PageMap(None, page_size=page, why=reason)
    first = address // page
    end = -(-(address + size) // page)
    states, mapped = _states("self" if pid is None else pid, first, end)
    states.flags.writeable = False
    return PageMap(states, first * page, page, region=mapped if mapped.start <= address else None)


def extent(buffer: Any) -> tuple[int, int]:
    """Where a buffer of this process lies: its lowest address, and bytes up to the end of its
    highest element.

    TypeError if it has no buffer, ValueError for a closed mapping, a released view or an empty
    buffer.
    """
    name = type(buffer).__name__
    if not isinstance(buffer, np.ndarray):
        try:
            view = memoryview(buffer)
        except TypeError:
            wanted = (
                "give an array, a memoryview, a mapping, or bytes; where(x) tells what other "
                "things are made of"
            )
            raise TypeError(f"{name} shows no bytes of its own: {wanted}") from None
        except ValueError as error:  # what mmap and memoryview raise
            raise ValueError(f"this {name} no longer shows any bytes: {error}") from None
        # If numpy doesn't know the format (a ctypes structure's), its bytes lie in a row.
        buffer = np.frombuffer(view, np.uint8) if view.c_contiguous else np.asarray(view)
    if not buffer.nbytes:
        raise ValueError(f"an empty {name} has no bytes: there is nothing to look at")
    low, high = np.lib.array_utils.byte_bounds(buffer)
    return low, high - low


# Bit 61 is set for a page of a file, for shared memory and for the huge page of zeros: the mapping
# tells which it is.
MEANING_OF_FILE_BIT = dict.fromkeys(("anonymous", "heap", "stack"), PageState.FORKED)
MEANING_OF_FILE_BIT["shared memory"] = PageState.SHARED


def _states(pid: int | str, first: int, end: int) -> tuple[np.ndarray, maps.Region]:
    page = mmap.PAGESIZE
    mapped = [
        region
        for region in maps.regions(pid)
        if region.start < end * page and first * page < region.end
    ]
    if not mapped:
        raise ValueError(f"nothing is mapped at {first * page:#x} in process {pid}")
    with maps.translate_proc_errors(pid), open(f"/proc/{pid}/pagemap", "rb", buffering=0) as file:
        if not os.pread(file.fileno(), 8, (end - 1) * 8):
            maps.regions(pid)  # raises if the process is gone
            raise ValueError(f"nothing can be mapped at {(end - 1) * page:#x}")
        states = np.zeros(end - first, np.uint8)
        for region in mapped:
            low = max(first, region.start // page)
            high = min(end, region.end // page)
            entries = np.zeros(high - low, "<u8")
            view = memoryview(entries).cast("B")
            done = 0
            while got := os.preadv(file.fileno(), [view[done:]], low * 8 + done):
                done += got
            if done < len(view):
                maps.regions(pid)
            part = states[low - first : high - first]
            part[:] = STATE_OF[entries.view(np.uint8)[7::8]]
            part[part == PageState.FILE] = MEANING_OF_FILE_BIT.get(region.kind, PageState.FILE)
    return states, mapped[0]
