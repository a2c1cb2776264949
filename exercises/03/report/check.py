"""03.report: what each of twelve loads waited for, by its counters."""

import json
import mmap
import os
import secrets
from pathlib import Path

from helpers.make import random_file
from helpers.measure import Recording, measure, page_cache
from helpers.measure.cache import PageCache
from helpers.teach.judging import Attempt, NotYet, Verdict, is_cold, right_for_each
from helpers.units import KiB, MiB, in_words

LOADS = {  # the word for each, and what it does
    "read, cold": ("disk", "reads a whole cold file"),
    "map, cold": ("disk", "maps a cold file and walks through it"),
    "look up, cold": ("read-ahead", "looks up single bytes in the mapping of a cold file"),
    "look up, advised, cold": (
        "disk",
        "looks up single bytes in the mapping of a cold file, with the advice “random”",
    ),
    "map, warm": ("faults", "maps a warm file and walks through it"),
    "look up, warm": ("faults", "looks up single bytes in the mapping of a warm file"),
    "read, warm": ("copy", "reads a whole warm file"),
    "read two thirds, cold": ("disk", "reads a whole cold file and uses two thirds of it"),
    "read, a third warm": ("disk", "reads a whole file, a third of which is in memory"),
    "read, mostly warm": ("copy", "reads a whole file, most of which is in memory"),
    "map the end, mostly warm": (
        "disk",
        "maps a file, most of which is in memory, and walks through the rest",
    ),
    "map the start, a third warm": (
        "faults",
        "maps a file, a third of which is in memory, and walks through part of that",
    ),
}
# the share of a file, from its start
CACHED = {"cold": 0, "a third warm": 0.3, "mostly warm": 0.8, "warm": 1}
CAUSES = {  # each word, and what to say if it was missed
    "disk": (
        "The bytes had to come from the disk first. Neither the faults, nor the calls, nor what "
        "was cached before tells you how many did."
    ),
    "read-ahead": "Most of what the program waited for, it never wanted.",
    "faults": (
        "The bytes were already in memory. How did the program reach those that no call copied?"
    ),
    "copy": (
        "Most of the bytes were already in memory, and nothing was left for faults to bring in."
    ),
}
Counters = dict[str, float]  # the prompt explains each


def recorded() -> dict[str, Counters]:
    """The counters of such loads on another machine."""
    return json.loads(Path(__file__).with_name("recorded.json").read_text())


def judge(attempt: Attempt) -> Verdict:
    """Asks about loads made for this check, or recorded loads where files can't be made cold."""
    there = recorded()
    for _ in range(2):  # the kernel may have taken a warm file's pages meanwhile
        loads = live_loads(attempt)
        if live := bool(loads) and all(
            fits(report, LOADS[kind][0]) for kind, report in loads.items()
        ):
            break
    loads = loads if live else there
    figures = tuple(
        f"{kind}: {in_words(report['device_bytes'], 'bytes')} from the disk for "
        f"{in_words(report['used'], 'bytes')}"
        for kind, report in loads.items()
    )
    where = (
        "made a moment ago"
        if live
        else "recorded on another machine: files don't get cold enough here"
    )
    cases = {kind: (report,) for kind, report in loads.items()}
    words = {kind: word for kind, (word, _) in LOADS.items()}
    does = {kind: does for kind, (_, does) in LOADS.items()}
    done = f"You explained {len(cases)} loads {where}."
    return right_for_each(
        attempt, cases, misexplained, "a program that", does, done, figures, words
    )


def live_loads(attempt: Attempt) -> dict[str, Counters]:
    """The counters of each load; {} where files can't be dropped from the page cache or the disk
    isn't counted.
    """
    size = 16 * MiB + 4 * KiB * secrets.randbelow(2048)
    path = random_file(attempt.folder / "load.bin", size, seed=secrets.randbelow(2**32))
    places, found = [secrets.randbelow(size) for _ in range(256)], {}
    for kind in LOADS:
        how, _, warmth = kind.rpartition(", ")
        if not is_cold(path):
            return {}
        warm_up(path, int(CACHED[warmth] * size))
        before = page_cache(path)
        found[kind] = counters(measure(load, how, str(path), places, name=kind), before)
        if None in found[kind].values():
            return {}
    return found


def warm_up(path: Path, share: int) -> None:
    """Brings the first `share` bytes of a cold file into the page cache, and nothing after them."""
    with path.open("rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        file.read(share)


def load(how: str, path: str, places: list[int]) -> int:
    """Loads a file or part of it, or looks up the bytes at `places`. Returns how many bytes it
    used, in whole pages.
    """
    import mmap
    import os

    size, page = os.path.getsize(path), mmap.PAGESIZE
    with open(path, "rb", buffering=0) as file:
        if how.startswith("read"):
            read = file.readinto(bytearray(size))
            return read * 2 // 3 // page * page if how == "read two thirds" else read
        if how.startswith("map"):
            for _ in range(16):  # as a header is read: more calls than reading the file takes
                file.read(64)
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
            if how == "look up, advised":
                mapping.madvise(mmap.MADV_RANDOM)
            begin, end = {"map the start": (0, 0.2), "map the end": (0.8, 1)}.get(how, (0, 1))
            at = (
                places
                if how.startswith("look up")
                else range(int(begin * size) // page * page, int(end * size), page)
            )
            sum(mapping[place] for place in at)
            return min(size, page * len({place // page for place in at}))


def counters(run: Recording, before: PageCache) -> Counters:
    """The report of one load; None for what wasn't measured."""
    return {
        "size": before.size,
        "used": run.value,
        "cached_before": (
            None if before.count is None else min(before.size, before.count * mmap.PAGESIZE)
        ),
        "device_bytes": run.io.device_read_bytes,
        "read_calls": run.io.read_calls,
        "bytes_by_calls": run.io.read_bytes,
        "major_faults": run.faults.major,
        "minor_faults": run.faults.minor,
        "seconds": run.wall,
    }


def fits(report: Counters, word: str) -> bool:
    """Is `word` right for this load, by the rules of the prompt?"""
    came, copied = (report[name] / report["used"] for name in ("device_bytes", "bytes_by_calls"))
    if word == "read-ahead":
        return came > 2
    if word == "disk":
        return 0.5 <= came <= 2
    return came < 0.5 and (word == "copy") == (copied >= 0.5)


def misexplained(given: object, right: str, report: Counters) -> None:
    """Raises NotYet if the given word is wrong, and says what speaks against it."""
    if given == repr(right):
        return
    if given not in map(repr, CAUSES):
        raise NotYet(
            "other-type", f"it returned {given}. Return one of {', '.join(map(repr, CAUSES))}."
        )
    came, used, copied = (
        in_words(report[name], "bytes") for name in ("device_bytes", "used", "bytes_by_calls")
    )
    why = f"the program used {used}, the disk gave {came}, and calls copied {copied}."
    raise NotYet(f"missed-{right}", f"you say {given}, but {why} {CAUSES[right]}")
