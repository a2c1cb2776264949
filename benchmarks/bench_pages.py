"""What looking at pages costs, against what you'd use instead: `python
benchmarks/bench_pages.py`.
"""

import mmap
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil

from helpers.measure import page_map, where
from helpers.measure.machine import here
from helpers.measure.pages import PageMap
from helpers.measure.sharing import sharing
from helpers.show import page_film

ROUNDS = 15
COUNTS = (16, 256, 4_096, 65_536, 262_144)


def took(look: Callable[[], object]) -> float:
    """The median seconds of ROUNDS calls."""
    look()
    rounds = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        look()
        rounds.append(time.perf_counter() - began)
    return statistics.median(rounds)


def by_psutil() -> int:
    """Resident bytes per mapping: how many pages, but not which."""
    return sum(region.rss for region in psutil.Process().memory_maps(grouped=False))


def by_smaps() -> int:
    return len(Path("/proc/self/smaps").read_bytes())


def page_by_page(mapping: mmap.mmap) -> int:
    """Reads the same pagemap entries as page_map, one at a time in Python."""
    address = np.frombuffer(mapping, np.uint8).ctypes.data
    pages = range(address // mmap.PAGESIZE, (address + len(mapping)) // mmap.PAGESIZE)
    with open("/proc/self/pagemap", "rb", buffering=0) as file:
        return sum(os.pread(file.fileno(), 8, page * 8)[7] >> 7 for page in pages)


def looking() -> None:
    """Looks at anonymous memory, all of it written, so every page has an entry to read."""
    print(
        "| pages | `page_map` | `where` | one entry at a time | psutil `memory_maps` | read smaps |"
    )
    print("|---:|---:|---:|---:|---:|---:|")
    for pages in COUNTS:
        with mmap.mmap(
            -1, pages * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        ) as mapping:
            mapping.madvise(mmap.MADV_NOHUGEPAGE)
            np.frombuffer(mapping, np.uint8)[:: mmap.PAGESIZE] = 1
            ways = (
                lambda m=mapping: page_map(m),
                lambda m=mapping: where(m),
                lambda m=mapping: page_by_page(m),
                by_psutil,
                by_smaps,
            )
            print(
                f"| {pages:,} | " + " | ".join(f"{took(way) * 1e3:.2f} ms" for way in ways) + " |"
            )
            del ways
    print(f"\n`sharing` of one process: {took(lambda: sharing([os.getpid()])) * 1e3:.2f} ms")


def drawing() -> None:
    """From a page map to a picture on the page: the drawing, and the PNG."""
    print("\n| pages | `page_film`, drawn | … and as PNG |\n|---:|---:|---:|")
    for pages in COUNTS:
        some = PageMap(np.random.default_rng(0).choice([0, 1, 1, 1, 3], pages).astype(np.uint8))
        drawn, shown = (
            took(lambda p=some: page_film({"": p})),
            took(lambda p=some: page_film({"": p}).png),
        )
        print(f"| {pages:,} | {drawn * 1e3:.0f} ms | {shown * 1e3:.0f} ms |")


if __name__ == "__main__":
    print(f"{here()}\n")
    looking()
    drawing()
