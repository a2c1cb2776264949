"""01.report: what seven data loaders gained, lent and own, and the word for it."""

import secrets
import tomllib
from collections.abc import Mapping
from pathlib import Path

from helpers.make import random_file
from helpers.measure import measure
from helpers.measure.plain import fields
from helpers.teach.judging import Attempt, NotYet, Verdict, is_a_number, kinds_are_told_apart, right_for_each
from helpers.units import KiB, MiB, in_words

LOADERS = {
    "walks": "walks through a mapping and keeps nothing",
    "keeps": "keeps a copy of every batch",
    "both": "walks through a mapping and keeps a copy of every batch",
    "shares": "fills memory that it shares with its workers",
    "promises": "maps the data, and reads only an index of 256 KiB",
    "spikes": "reads everything, and lets it go",
    "trades": "closes the mapping that it walked through, and reads everything instead",
}
WORDS = ("lent", "leak", "both", "neither")
MUCH = MiB


def recorded() -> dict[str, tuple[str, str]]:
    """The status of such loaders on another machine, before and after."""
    text = Path(__file__).with_name("recorded.toml").read_text()
    return {kind: (pair["before"], pair["after"]) for kind, pair in tomllib.loads(text).items()}


def judge(attempt: Attempt) -> Verdict:
    """Of loaders started for this check; of recorded ones where these do not show what they should."""
    live, there = live_loaders(attempt) if kinds_are_told_apart() else {}, recorded()
    as_meant = words_of(live) == words_of(there)  # not so if the data lie on a file system in memory
    pairs = live if as_meant else there
    gained = {kind: judged_right(*pair) for kind, pair in pairs.items()}
    figures = tuple(f"{kind}: {signed(lent)} lent, {signed(own)} its own" for kind, (lent, own, _) in gained.items())
    where = "that ran a moment ago" if as_meant else "recorded on another machine: this one does not show them"
    done = f"You judged {len(pairs)} loaders {where}."
    return right_for_each(attempt, pairs, misjudged, "a loader that", LOADERS, done, figures)


def live_loaders(attempt: Attempt) -> dict[str, tuple[str, str]]:
    """What /proc said of each loader, which had a process to itself, at two moments."""
    size = 16 * MiB + 4 * KiB * secrets.randbelow(2048)
    path = random_file(attempt.folder / "data.bin", size, seed=secrets.randbelow(2**32))
    return {kind: measure(loader, kind, str(path), size, name=kind).value for kind in LOADERS}


def loader(kind: str, path: str, size: int) -> tuple[str, str]:
    """The status of this process at two moments, proc_pid_status(5), between which it loads data as `kind` says."""
    import mmap

    held = []

    def status():
        with open("/proc/self/status") as file:
            return file.read()

    def mapped():
        return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)

    def touched(mapping, end=size):
        return mapping, sum(mapping[at] for at in range(0, end, mmap.PAGESIZE))

    status()  # once beforehand: what a first time costs is not the loader's
    with open(path, "rb") as file:
        if kind in ("walks", "both"):
            held.append(touched(mapped(), size // 8))
        elif kind == "trades":
            held.append(touched(mapped()))
        before = status()
        if kind in ("walks", "both"):
            touched(held[0][0])
        if kind in ("keeps", "both"):
            held += iter(lambda: file.read(64 * 1024), b"")
        elif kind == "shares":
            held.append(mmap.mmap(-1, size))
            for at in range(0, size, mmap.PAGESIZE):
                held[0][at] = 1
        elif kind == "promises":
            index = mmap.mmap(-1, 256 * 1024, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # new pages for sure
            file.readinto(index)
            held += mapped(), index
        elif kind == "spikes":
            held.append(len(file.read()))
        elif kind == "trades":
            held.clear()
            held.append(file.read())
        return before, status()


def judged_right(before: str, after: str) -> tuple[int, int, str]:
    """Lent bytes gained, own bytes gained, and the word."""
    gained = gains(before, after)
    lent, own = gained["RssFile"], gained["RssAnon"] + gained["RssShmem"]
    if lent > MUCH:
        return lent, own, "both" if own > MUCH else "lent"
    return lent, own, "leak" if own > MUCH else "neither"


def words_of(pairs: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    return {kind: judged_right(*pair)[2] for kind, pair in pairs.items()}


def gains(before: str, after: str) -> dict[str, int]:
    """By how many bytes each line has grown."""
    then, now = fields(before), fields(after)
    return {name: now[name] - then[name] for name in now}


def signed(number: float) -> str:
    return f"{'−' if number < 0 else '+' if number else ''}{in_words(abs(number), 'bytes')}"


def misjudged(given: object, before: str, after: str) -> None:
    """NotYet says what the slip was, as far as the figures tell."""
    if not isinstance(given, tuple) or len(given) != 3 or not all(map(is_a_number, given[:2])):
        words = ", ".join(map(repr, WORDS))
        why = f"it returned {given!r}. Return three things: lent bytes gained, own bytes gained, one of {words}."
        raise NotYet("other-type", why)
    lent, own, word = judged_right(before, after)
    if given[:2] == (own, lent) != (lent, own):
        raise NotYet("swapped", "the bytes are right, but swapped: first what is lent, then what is own.")
    for name, number, right in (("own", given[1], own), ("lent", given[0], lent)):
        if number == right:
            continue
        if number == 0 > right:
            raise NotYet("shrank", f"you gave 0 as {name}. That part shrank: give what it gained, a negative number.")
        if right in (round(number * 1024), round(number * 1.024)):
            raise NotYet("unit", f"you gave {number:,} {name} bytes. A `kB` in /proc means 1,024 bytes.")
        told = slips(name, before, after).get(number, "Which of the lines that begin with Rss belong here?")
        raise NotYet(f"wrong-{name}", f"you gave {signed(number)} as {name}. {told}")
    if given[2] != word:
        why = f"the bytes are right ({signed(lent)} lent, {signed(own)} own), but not the word {given[2]!r}."
        raise NotYet("wrong-word", why)


def slips(name: str, before: str, after: str) -> dict[int, str]:
    """What to say to a number given as "lent" or "own" that comes from other lines, or from one text only."""
    gained, now = gains(before, after), fields(after)
    found = {
        gained["VmSize"]: "`VmSize` is address space. A promise that grows takes no memory.",
        gained["VmRSS"]: "`VmRSS` adds up what is lent and what is own, so it can't tell a leak from a mapping.",
    }
    if name == "lent":
        found[gained["RssFile"] + gained["RssShmem"]] = "`RssShmem` is not lent: no file holds these bytes."
        right, total = gained["RssFile"], now["RssFile"]
    else:
        found[gained["RssAnon"]] = "You left out `RssShmem`: no file holds these bytes, so nobody can take them back."
        right, total = gained["RssAnon"] + gained["RssShmem"], now["RssAnon"] + now["RssShmem"]
    at_the_end = f"That much is {name} in the second text. How much was it in the first?"
    return found | {total: at_the_end, -right: "What is gained is after − before."}
