"""03.report: the cause of twelve loads, by the counters of each."""

import json
import mmap
import os
import secrets
from pathlib import Path

from helpers.make import random_file
from helpers.measure import PageCache, Recording, measure, page_cache
from helpers.teach.judging import Attempt, NotYet, Verdict, is_cold, right_for_each
from helpers.units import KiB, MiB, in_words

LOADS = {  # the word for each, and what it does
    "read, cold": ("disk", "reads a cold file as a whole"),
    "map, cold": ("disk", "maps a cold file and walks through it"),
    "look up, cold": ("read-ahead", "looks up single bytes in the mapping of a cold file"),
    "look up, advised, cold": ("disk", "does the same with the advice “random”"),
    "map, warm": ("faults", "maps a warm file and walks through it"),
    "look up, warm": ("faults", "looks up single bytes in the mapping of a warm file"),
    "read, warm": ("copy", "reads a warm file as a whole"),
    "read two thirds, cold": ("disk", "reads a cold file as a whole and uses two thirds of it"),
    "read, a third warm": ("disk", "reads a file as a whole, of which a third is in memory"),
    "read, mostly warm": ("copy", "reads a file as a whole, most of which is in memory"),
    "map the end, mostly warm": ("disk", "maps a file, most of which is in memory, and walks through the rest"),
    "map the start, a third warm": (
        "faults",
        "maps a file, a third of which is in memory, and walks through part of that",
    ),
}
CACHED = {"cold": 0, "a third warm": 0.3, "mostly warm": 0.8, "warm": 1}  # the share of a file, from its start
CAUSES = {  # each word, and what to say to those who missed it
    "disk": "The bytes had to come first. Neither faults, nor calls, nor what was cached before says how many came.",
    "read-ahead": "Most of what the program waited for, it never wanted.",
    "faults": "The bytes were in memory already. How did the program reach those that no call copied?",
    "copy": "Most of the bytes were in memory already, and nothing was left for faults to bring.",
}
Counters = dict[str, float]  # the prompt says what each is


def recorded() -> dict[str, Counters]:
    """The counters of such loads on another machine."""
    return json.loads(Path(__file__).with_name("recorded.json").read_text())


def judge(attempt: Attempt) -> Verdict:
    """Of loads made for this check; where a cold file cannot be had, of recorded ones."""
    there = recorded()
    for _ in range(2):  # the kernel may have taken a warm file's pages meanwhile
        loads = live_loads(attempt)
        if live := bool(loads) and all(fits(one, LOADS[kind][0]) for kind, one in loads.items()):
            break
    loads = loads if live else there
    figures = tuple(
        f"{kind}: {in_words(one['device_bytes'], 'bytes')} from the disk for {in_words(one['used'], 'bytes')}"
        for kind, one in loads.items()
    )
    where = "made a moment ago" if live else "recorded on another machine: here files don't get as cold as they should"
    cases = {kind: (load,) for kind, load in loads.items()}
    words = {kind: word for kind, (word, _) in LOADS.items()}
    does = {kind: does for kind, (_, does) in LOADS.items()}
    done = f"You explained {len(cases)} loads {where}."
    return right_for_each(attempt, cases, misexplained, "a program that", does, done, figures, words)


def live_loads(attempt: Attempt) -> dict[str, Counters]:
    """The counters of each load; {} where a file cannot be dropped from the page cache, or the disk is not counted."""
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
    """Brings the first `share` bytes of a cold file into the page cache, and nothing behind them."""
    with path.open("rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        file.read(share)


def load(how: str, path: str, places: list[int]) -> int:
    """Loads a file or a part of it, or looks up the bytes at `places`; how many bytes were used, in whole pages."""
    import mmap
    import os

    size, page = os.path.getsize(path), mmap.PAGESIZE
    with open(path, "rb", buffering=0) as file:
        if how.startswith("read"):
            read = file.readinto(bytearray(size))
            return read * 2 // 3 // page * page if how == "read two thirds" else read
        if how.startswith("map"):
            for _ in range(16):  # what a header is read by: more calls than reading the file takes
                file.read(64)
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
            if how == "look up, advised":
                mapping.madvise(mmap.MADV_RANDOM)
            begin, end = {"map the start": (0, 0.2), "map the end": (0.8, 1)}.get(how, (0, 1))
            at = places if how.startswith("look up") else range(int(begin * size) // page * page, int(end * size), page)
            sum(mapping[one] for one in at)
            return min(size, page * len({one // page for one in at}))


def counters(run: Recording, before: PageCache) -> Counters:
    """A report of one load, in which None is what was not measured."""
    return {
        "size": before.size,
        "used": run.value,
        "cached_before": None if before.count is None else min(before.size, before.count * mmap.PAGESIZE),
        "device_bytes": run.io.device_read_bytes,
        "read_calls": run.io.read_calls,
        "bytes_by_calls": run.io.read_bytes,
        "major_faults": run.faults.major,
        "minor_faults": run.faults.minor,
        "seconds": run.wall,
    }


def fits(report: Counters, word: str) -> bool:
    """Is that word right for this load, by the rules of the prompt?"""
    came, copied = (report[name] / report["used"] for name in ("device_bytes", "bytes_by_calls"))
    if word == "read-ahead":
        return came > 2
    if word == "disk":
        return 0.5 <= came <= 2
    return came < 0.5 and (word == "copy") == (copied >= 0.5)


def misexplained(given: object, right: str, report: Counters) -> None:
    """NotYet says what speaks against the word that was given."""
    if given == repr(right):
        return
    if given not in map(repr, CAUSES):
        raise NotYet("other-type", f"it returned {given}. Return one of {', '.join(map(repr, CAUSES))}.")
    came, used, copied = (in_words(report[name], "bytes") for name in ("device_bytes", "used", "bytes_by_calls"))
    why = f"the program used {used}, the disk gave {came}, and calls copied {copied}."
    raise NotYet(f"missed-{right}", f"you say {given}, but {why} {CAUSES[right]}")
