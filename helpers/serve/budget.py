"""A worker's budget: how much memory of its own it may take. The kernel refuses more (RLIMIT_DATA, setrlimit(2)).

The limit counts what could be written to and isn't shared, whether it has been touched or not: the heap, copies, the
stacks of threads. A mapped file costs nothing. A refused allocation is a MemoryError, and the request's answer is 503.
An allocation that fails half-way can leak memory, in CPython or in a C library. Kill a worker that answers nothing but
503, and a new one takes its place.

Two things must be there before the limit is set, because a failure later would do harm: threads, and the
buffers that OpenBLAS multiplies in. For each thread that multiplies at the same time OpenBLAS takes 32 MiB, keeps them,
and ends the process if it can't get them (github.com/OpenMathLib/OpenBLAS/pull/5303).
"""

import resource
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Barrier, Thread

import numpy as np

from ..libc import libc
from ..measure.plain import fields
from ..units import KiB, MiB

SMALLEST_BUDGET = 8 * MiB  # for an upload, and for the little things of every request
M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8  # malloc.h


def one_arena() -> None:
    """The threads of this process, and of those it forks, share what they free: mallopt(3), where there is one."""
    with suppress(AttributeError, TypeError):
        libc().mallopt(M_ARENA_MAX, 1)


def limit(budget: int) -> None:
    """From now on this process can take `budget` bytes more, and no others."""
    # From this size on, what is freed goes back to the kernel at once. By default, malloc(3) learns to keep it.
    libc().mallopt(M_MMAP_THRESHOLD, 64 * KiB)
    taken = fields(Path("/proc/self/status").read_text())["VmData"]
    _, highest = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (taken + budget, highest))


def lift() -> None:
    """The budget is for serving; shutting down takes a thread, with its stack."""
    _, highest = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (highest, highest))


def threads(count: int) -> ThreadPoolExecutor:
    """A pool whose threads are all there already."""
    pool, all_there = ThreadPoolExecutor(count), Barrier(count)
    list(pool.map(lambda _: all_there.wait(), range(count)))
    return pool


def warm() -> None:
    """Makes OpenBLAS take two buffers, for two threads that multiply. A forked process has them too."""
    square = np.ones((1000, 1000), np.float32)
    other = Thread(target=np.matmul, args=(square, square))
    other.start()
    while other.is_alive():
        square[:20] @ square
    other.join()
