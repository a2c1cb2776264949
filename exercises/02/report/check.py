"""02.report: lent and own bytes, and the word, for the status of six processes, each with its own
kind of memory.
"""

import secrets
import tomllib
from pathlib import Path

from helpers.make import random_file
from helpers.measure import measure
from helpers.measure.jsonable import fields
from helpers.teach.judging import (
    Attempt,
    NotYet,
    Verdict,
    is_a_number,
    kinds_are_told_apart,
    right_for_each,
)
from helpers.units import KiB, MiB, in_words

KINDS = {
    "read": "reads a file into memory",
    "map": "maps a file and touches every page",
    "map, untouched": "maps a file and touches nothing",
    "share": "fills memory that it shares with others",
    "map, a third read": "maps a file and reads a third of it too",
    "let go": "reads a file and lets it go",
}
# the least and the largest lent share
WORDS = {"page cache": (0.75, 1), "own memory": (0, 0.25), "both": (0.25, 0.75)}


def recorded() -> dict[str, str]:
    """The reports of such processes on another machine."""
    return tomllib.loads(Path(__file__).with_name("recorded.toml").read_text())


def judge(attempt: Attempt) -> Verdict:
    """Asks about processes started for this check, or recorded processes where there is no
    /proc.
    """
    live = live_reports(attempt) if kinds_are_told_apart() else {}
    cases = {kind: (text,) for kind, text in (live or recorded()).items()}
    figures = tuple(
        f"{kind}: {in_words(found['RssFile'], 'bytes')} of {in_words(found['VmRSS'], 'bytes')} lent"
        for kind, found in ((kind, fields(text)) for kind, text in live.items())
    )
    where = (
        "processes that were running a moment ago"
        if live
        else "processes recorded on another machine: no /proc here"
    )
    done = f"You read the reports of {len(cases)} {where}."
    return right_for_each(attempt, cases, misread, "a process that", KINDS, done, figures)


def live_reports(attempt: Attempt) -> dict[str, str]:
    """The status of a process of each kind."""
    size = 40 * MiB + 4 * KiB * secrets.randbelow(4096)
    path = random_file(attempt.folder / "report.bin", size, seed=secrets.randbelow(2**32))
    return {kind: measure(report, kind, str(path), size, name=kind).value for kind in KINDS}


def report(kind: str, path: str, size: int) -> str:
    """The status of this process, proc_pid_status(5), while it holds `size` bytes the way `kind`
    says.
    """
    import mmap

    held = []
    with open(path, "rb") as file:
        if kind.startswith("map"):
            held.append(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ))
        if kind in ("map", "map, a third read"):
            held.append(sum(held[0][at] for at in range(0, size, mmap.PAGESIZE)))
        if kind in ("read", "map, a third read"):
            held.append(file.read(size if kind == "read" else size // 3))
        if kind == "let go":
            file.read(size)
    if kind == "share":
        held.append(mmap.mmap(-1, size))
        held[0].write(bytes(size))
    with open("/proc/self/status") as file:
        return file.read()


def misread(given: object, text: str) -> None:
    """Raises NotYet for a wrong answer, and names the slip if the figures give it away."""
    words = ", ".join(map(repr, WORDS))
    if not isinstance(given, tuple) or len(given) != 3 or not all(map(is_a_number, given[:2])):
        raise NotYet(
            "other-type",
            f"it returned {given}. Return three things: lent bytes, own bytes, and one of {words}.",
        )
    found = fields(text)
    lent, own = found["RssFile"], found["VmRSS"] - found["RssFile"]
    slips = {
        found["VmHWM"] - lent: "`VmHWM` is the most it ever had, not what it has now.",
        found["VmRSS"]: (
            "`VmRSS` is everything resident, lent or owned. High is not the same as owned: of "
            f"these {in_words(found['VmRSS'], 'bytes')}, {in_words(lent, 'bytes')} are the page "
            "cache's."
        ),
        found["VmSize"]: "`VmSize` is address space: what was promised, not what's there.",
        found[
            "RssAnon"
        ]: "That's `RssAnon`. `RssShmem` is own memory too: no file holds the bytes of either.",
        found["RssFile"] + found["RssShmem"]: (
            "That's `RssFile` and `RssShmem` together. Only `RssFile` is lent: no "
            "file holds the bytes of `RssShmem`, so the kernel can't drop them."
        ),
    }
    least, most = WORDS.get(given[2], (1, 0))
    share = lent / found["VmRSS"]
    half = "the words" if least <= share <= most else ""
    for name, number, right in (("lent", given[0], lent), ("own", given[1], own)):
        if right in (round(number * 1024), round(number * 1.024)) and number != right:
            raise NotYet(
                "unit",
                f"you gave {number:,} {name} bytes. A `kB` in /proc means 1,024 bytes.",
                half=half,
            )
        if number != right:
            told = slips.get(number, "Which of the Rss lines belong here?")
            raise NotYet(
                f"wrong-{name}",
                f"you gave {in_words(number, 'bytes')} as {name}. {told}",
                half=half,
            )
    if not half:
        lent_is = f"{share:.0%} of what's resident is lent"
        told = lent_is if given[2] in WORDS else f"it must be one of {words}, as written here"
        why = f"the bytes are right, but the word {given[2]!r} isn't: {told}."
        raise NotYet("wrong-word", why, half="the bytes")
