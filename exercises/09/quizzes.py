"""Lesson 09: the answers of its quizzes, found by measuring."""

import os
from pathlib import Path

from helpers.measure import measure
from helpers.measure.workers import workers
from helpers.teach.judging import on_a_file


@on_a_file
def elsewhere(path: Path) -> int | None:
    """1 if a file that one process maps again and again, and another one too, comes to lie at
    different addresses.
    """

    def address(path):
        import mmap

        import numpy as np

        with open(path, "rb") as file:
            mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return np.frombuffer(mapping, np.uint8).ctypes.data

    found = {measure(address, str(path)).value for _ in range(3)}
    return 1 if len(found) > 1 else None  # where addresses are not randomised, nothing is seen


@on_a_file
def where_the_time_went(path: Path) -> int | None:
    """2 if of open, first pass and second pass nearly all page faults are in the first pass, with a
    warm cache, too.
    """

    def passes(path):
        import mmap
        import resource

        def faults():
            used = resource.getrusage(resource.RUSAGE_SELF)
            return used.ru_minflt + used.ru_majflt

        def touch():
            return sum(mapping[at] for at in range(0, len(mapping), mmap.PAGESIZE))

        start = faults()
        with open(path, "rb") as file:
            mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        opened = faults()
        touch()
        first = faults()
        touch()
        return opened - start, first - opened, faults() - first

    if os.name != "posix":
        return None
    opened, first, second = measure(passes, str(path)).value
    return 2 if first > 4 * (opened + second) else 0


@on_a_file
def four_workers(path: Path) -> int | None:
    """1 if four workers that map the same file and touch all of it have it once in PSS and four
    times in RSS.
    """

    def use(path):
        import mmap

        with open(path, "rb") as file:
            mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        sum(mapping[at] for at in range(0, len(mapping), mmap.PAGESIZE))
        return mapping

    crowd, size = workers(use, str(path)), path.stat().st_size
    if crowd.missing:
        return None
    return 1 if crowd.total("pss") < 1.5 * size and crowd.total("rss") > 3.5 * size else 0
