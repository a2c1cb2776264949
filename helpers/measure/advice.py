"""Tell the kernel which parts of a mapping you'll need, and which you won't. madvise(2)."""

import ctypes
import errno
import mmap
import operator
import sys
from typing import Any

from .. import libc
from ..owners import mapping_under
from .pages import extent

KNOWN = (  # to Python's mmap
    "normal random sequential willneed dontneed free remove dontfork dofork mergeable unmergeable "
    "hugepage nohugepage dontdump dodump"
)
LATER = {  # from <linux/mman.h>, the same on x86-64 and ARM
    "wipeonfork": 18,
    "keeponfork": 19,
    "cold": 20,  # Linux 5.4
    "pageout": 21,  # Linux 5.4
    "populate_read": 22,  # Linux 5.14
    "populate_write": 23,  # Linux 5.14
    "collapse": 25,  # Linux 6.1
}
# -1: not on Linux
ADVICE = {name: getattr(mmap, f"MADV_{name.upper()}", -1) for name in KNOWN.split()} | LATER
DISCARDING = ("dontneed", "free", "remove", "wipeonfork")


def advise(buffer: Any, advice: str, start: int = 0, length: int | None = None) -> None:
    """madvise(2) for `length` bytes of a mapping, array or memoryview, from byte `start` on; by
    default, all of it.

    The kernel takes whole pages, so the stretch is widened to the pages of its first and last byte.
    Advice that throws contents away ("dontneed", "free", "remove", "wipeonfork") must begin and end
    with a page, or end with the `mmap` that owns the bytes. "dontneed" on a private mapping
    discards the edits: the next touch shows the file, or zeros.

    ValueError: no such advice, or a stretch outside the buffer. OSError, with the advice's name:
    the kernel refused; an older kernel says EINVAL for advice that it doesn't know.
    """
    number = number_of(advice)
    address, size = extent(buffer)
    start = operator.index(start)
    length = size - start if length is None else operator.index(length)
    if start < 0 or length <= 0 or start + length > size:
        raise ValueError(f"{length} bytes from byte {start} are not in a buffer of {size} bytes")
    if sys.platform != "linux":
        raise OSError(
            errno.ENOSYS, f"{advice}: we call madvise(2) on Linux only, and this is {sys.platform}"
        )
    page = mmap.PAGESIZE
    first = address + start
    end = address + start + length
    low = first // page * page
    high = -(-end // page) * page
    mapping = mapping_under(buffer)
    # Where the mmap ends that owns these bytes, the rest of its last page is nobody's.
    at_the_end = high == end or (mapping is not None and end == sum(extent(mapping)))
    if advice in DISCARDING and (low != first or not at_the_end):
        why = (
            f"{length} bytes from byte {start} share a page with others: begin and end with a page"
        )
        raise ValueError(f"{advice!r} throws away whole pages of {page} bytes, and {why}")
    where = ctypes.c_void_p(low)
    length = ctypes.c_size_t(high - low)
    libc.call("madvise", where, length, number, about=f"madvise {advice!r}")


def number_of(advice: str) -> int:
    if advice not in ADVICE:
        raise ValueError(f"no advice {advice!r}; there are: {', '.join(ADVICE)}")
    return ADVICE[advice]


def page_out(buffer: Any) -> None:
    """Takes the pages away now, as the kernel does when memory is short: "pageout", Linux 5.4.

    A file's page goes, because it's lent (if dirty, it's written first). An anonymous page is
    owned, and goes only if there is swap. The kernel decides: a page that another process maps too
    stays, and so may a page in use right now.
    """
    advise(buffer, "pageout")
