"""The page cache: which pages of a file the kernel holds in memory, whoever asked for them."""

import ctypes
import mmap
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..units import in_words


@dataclass(frozen=True, eq=False)
class PageCache:
    """`cached`: (pages,) bool, one a page of the file, in order; None where the kernel does not tell, and `why`."""

    path: Path
    size: int
    cached: np.ndarray | None
    why: str = ""

    @property
    def share(self) -> float | None:
        """Between 0 and 1: how much of the file is in memory."""
        return None if self.cached is None else float(self.cached.mean()) if self.size else 0.0

    def __repr__(self) -> str:
        seen = f"not measured here: {self.why}" if self.cached is None else f"{self.share:.0%} in the page cache"
        return f"<{self.path.name}, {in_words(self.size, 'bytes')}: {seen}>"


def page_cache(path: str | os.PathLike) -> PageCache:
    """What the page cache holds of a file, by mincore(2) on a mapping made for it; looking brings nothing in.

    The kernel tells only the file's owner, or who may write to it (Linux 5.2): others get `cached=None` and a reason.
    """
    path = Path(path)
    size = path.stat().st_size
    if sys.platform != "linux":
        return PageCache(path, size, None, f"mincore(2) is read on Linux only, and this is {sys.platform}")
    if path.stat().st_uid != os.geteuid() and not os.access(path, os.W_OK):
        return PageCache(path, size, None, "the kernel tells only the file's owner, or who may write to it")
    states = np.zeros(-(-size // mmap.PAGESIZE), np.uint8)
    if size:
        libc = ctypes.CDLL(None, use_errno=True)
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
            start = np.frombuffer(mapping, np.uint8).ctypes.data  # the view is gone before the mapping is closed
            if libc.mincore(ctypes.c_void_p(start), ctypes.c_size_t(size), ctypes.c_void_p(states.ctypes.data)):
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number), str(path))
    return PageCache(path, size, (states & 1).astype(bool))
