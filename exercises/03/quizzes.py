"""Lesson 03: what the answers of its quizzes are, found by measuring."""

import mmap
from pathlib import Path

from helpers.measure import drop_from_cache, measure, page_cache
from helpers.teach.judging import on_a_file


@on_a_file
def ahead(path: Path) -> int | None:
    """2 if one byte of a cold mapping brings many pages, and next to none once the kernel was
    advised not to guess.
    """
    brought = []
    for advised in (False, True):
        if not is_cold(path):
            return None
        measure(touch, str(path), [path.stat().st_size // 2], advised)
        brought.append(page_cache(path).count)
    usual, advised = brought
    if usual < 2:  # a disk for which read-ahead is switched off
        return None
    return 2 if usual > 2 * advised else 0


@on_a_file
def entered(path: Path) -> int | None:
    """1 if a walk through a mapping makes next to no calls, and the process waits for page after
    page.
    """
    if not is_cold(path):
        return None
    run = measure(touch, str(path), range(0, path.stat().st_size, 8 * mmap.PAGESIZE), True)
    if run.io.read_calls is None or not run.faults.major:
        return None
    return (
        1
        if run.faults.major > 10 * run.io.read_calls
        and run.switches.voluntary > 10 * run.io.read_calls
        else 0
    )


@on_a_file
def outlived(path: Path) -> int | None:
    """1 if the second process needs no disk, and the page cache held the file when no process had
    it.
    """
    if not is_cold(path):
        return None
    first, between = measure(read, str(path)), page_cache(path).share
    second, size = measure(read, str(path)), path.stat().st_size
    came, again = first.io.device_read_bytes, second.io.device_read_bytes
    if came is None or came < size / 2:  # not counted, or a file system that lies in memory
        return None
    return 1 if again < size / 20 and between > 0.9 else 0


def is_cold(path: Path) -> bool:
    """Drops a file from the page cache; has it worked?"""
    cached = drop_from_cache(path).share
    return cached is not None and cached < 0.01


def read(path: str) -> int:
    with open(path, "rb") as file:
        return len(file.read())


def touch(path: str, places: list[int] | range, advised: bool) -> None:
    """Touches these bytes of a mapping, with the advice “random” if `advised`."""
    import mmap

    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
        if advised:
            mapping.madvise(mmap.MADV_RANDOM)
        sum(mapping[at] for at in places)
