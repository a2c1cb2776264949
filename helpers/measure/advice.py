"""Tell the kernel what will be needed of a mapping, and what not. madvise(2)."""

import ctypes
import errno
import mmap
import operator
import os
import sys
from typing import Any

from ..owners import mapping_under
from .pages import extent

# As in <linux/mman.h>, the same on x86-64 and ARM; Python's mmap does not have the later ones.
ADVICE = {
    "normal": 0,
    "random": 1,
    "sequential": 2,
    "willneed": 3,
    "dontneed": 4,
    "free": 8,  # Linux 4.5
    "remove": 9,
    "dontfork": 10,
    "dofork": 11,
    "mergeable": 12,
    "unmergeable": 13,
    "hugepage": 14,
    "nohugepage": 15,
    "dontdump": 16,
    "dodump": 17,
    "wipeonfork": 18,
    "keeponfork": 19,
    "cold": 20,  # Linux 5.4
    "pageout": 21,  # Linux 5.4
    "populate_read": 22,  # Linux 5.14
    "populate_write": 23,  # Linux 5.14
    "collapse": 25,  # Linux 6.1
}
DISCARDING = ("dontneed", "free", "remove", "wipeonfork")


def advise(buffer: Any, advice: str, start: int = 0, length: int | None = None) -> None:
    """madvise(2) for `length` bytes of a mapping, array or memoryview, from byte `start` on; all of it by default.

    The kernel takes whole pages: the stretch is widened to those that hold its first and its last byte. An advice that
    throws contents away ("dontneed", "free", "remove", "wipeonfork") must begin and end with a page, or end with the
    `mmap` that owns the bytes, so that no neighbour is lost. "dontneed" on a private mapping discards the edits: the
    next touch shows the file, or zeros. That is what it is for, and there is no way back.

    ValueError: no such advice, or a stretch outside the buffer. OSError, with the advice's name: the kernel refused;
    EINVAL is also how an older kernel says that it does not know it.
    """
    if advice not in ADVICE:
        raise ValueError(f"no advice {advice!r}; there are: {', '.join(ADVICE)}")
    address, size = extent(buffer)
    start = operator.index(start)
    length = size - start if length is None else operator.index(length)
    if start < 0 or length <= 0 or start + length > size:
        raise ValueError(f"{length} bytes from byte {start} on are not in a buffer of {size} bytes")
    if sys.platform != "linux":
        raise OSError(errno.ENOSYS, f"{advice}: madvise(2) is called on Linux only, and this is {sys.platform}")
    page = mmap.PAGESIZE
    first, end = address + start, address + start + length
    low, high = first // page * page, -(-end // page) * page
    if advice in DISCARDING and (low != first or (high != end and end != _end_of_mapping(buffer))):
        raise ValueError(
            f"{advice!r} throws whole pages of {page} bytes away, and {length} bytes from byte {start} on share a page "
            f"with others: begin and end with a page"
        )
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.madvise(ctypes.c_void_p(low), ctypes.c_size_t(high - low), ctypes.c_int(ADVICE[advice])):
        number = ctypes.get_errno()
        raise OSError(number, f"madvise {advice!r}: {os.strerror(number)}")


def _end_of_mapping(buffer: Any) -> int | None:
    """Of the mmap whose bytes these are: the rest of its last page is nobody's. None if they are no mmap's."""
    mapping = mapping_under(buffer)
    return sum(extent(mapping)) if mapping is not None else None


def prefault(mapping: Any) -> None:
    """Brings every page in now, in one call, so that no later touch has to wait: "populate_read", Linux 5.14."""
    advise(mapping, "populate_read")


def page_out(buffer: Any) -> None:
    """Takes the pages away now, as the kernel does when memory is short: "pageout", Linux 5.4.

    A page of a file goes (a dirty one is written first), an anonymous one only where there is swap: lent and owned.
    The kernel decides: a page that somebody else has mapped too stays, and so may one that is just in use.
    """
    advise(buffer, "pageout")
