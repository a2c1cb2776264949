"""01.report: how much lent and own memory each of seven data loaders gained, and the word for
it.
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

LOADERS = {
    "walks": "walks through a mapping and keeps nothing",
    "keeps": "keeps a copy of every batch",
    "both": "walks through a mapping and keeps a copy of every batch",
    "shares": "fills memory that it shares with its workers",
    "promises": "maps the data, and reads only an index of 256 KiB",
    "spikes": "reads everything and lets it go",
    "trades": "closes the mapping that it walked through and reads everything instead",
}
PARTS, MUCH = ("RssAnon", "RssFile", "RssShmem"), MiB
WORDS = {  # did the lent part grow by more than MUCH? did the own part?
    "lent": (True, False),
    "leak": (False, True),
    "both": (True, True),
    "neither": (False, False),
}


def recorded() -> dict[str, tuple[str, str]]:
    """What /proc said about such loaders on another machine, before and after."""
    text = Path(__file__).with_name("recorded.toml").read_text()
    return {kind: (pair["before"], pair["after"]) for kind, pair in tomllib.loads(text).items()}


def judge(attempt: Attempt) -> Verdict:
    """Asks about loaders started for this check, or recorded loaders if those don't show what they
    should.
    """
    live = live_loaders(attempt) if kinds_are_told_apart() else {}
    as_meant = grown(live) == grown(recorded())  # false if the data lie on a file system in memory
    pairs = live if as_meant else recorded()
    figures = tuple(f"{kind}: {in_parts(gains(*pair))}" for kind, pair in pairs.items())
    where = (
        "that ran a moment ago"
        if as_meant
        else "recorded on another machine: this one doesn't show the difference"
    )
    done = f"You judged {len(pairs)} loaders {where}."
    return right_for_each(attempt, pairs, misjudged, "a loader that", LOADERS, done, figures)


def live_loaders(attempt: Attempt) -> dict[str, tuple[str, str]]:
    """What /proc said about each loader at two moments; each ran in its own process."""
    size = 16 * MiB + 4 * KiB * secrets.randbelow(2048)
    path = random_file(attempt.folder / "data.bin", size, seed=secrets.randbelow(2**32))
    return {kind: measure(loader, kind, str(path), size, name=kind).value for kind in LOADERS}


def loader(kind: str, path: str, size: int) -> tuple[str, str]:
    """This process's status, proc_pid_status(5), before and after it loads data the way `kind`
    says.
    """
    import mmap
    from pathlib import Path

    def touch(mapping, end=size):
        for at in range(0, end, mmap.PAGESIZE):
            mapping[at]

    status = Path("/proc/self/status").read_text
    status()  # once beforehand: no loader should pay for the first call
    held = []
    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        touch(mapping, size if kind == "trades" else size // 8)
        before = status()
        if kind in ("walks", "both"):
            touch(mapping)
        if kind in ("keeps", "both"):
            held += iter(lambda: file.read(64 * 1024), b"")
        elif kind == "shares":
            held.append(mmap.mmap(-1, size))
            held[0].write(bytes(size))
        elif kind == "promises":
            # new pages for sure
            index = mmap.mmap(-1, 256 * 1024, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            file.readinto(index)
            held += index, mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        elif kind == "spikes":
            file.read()
        elif kind == "trades":
            mapping.close()
            held.append(file.read())
        return before, status()


def grown(pairs: dict[str, tuple[str, str]]) -> dict[str, list[str]]:
    """The PARTS of each loader that grew by more than MUCH."""
    return {
        kind: [name for name in PARTS if gains(*pair)[name] > MUCH] for kind, pair in pairs.items()
    }


def gains(before: str, after: str) -> dict[str, int]:
    """How many bytes each line grew by."""
    then, now = fields(before), fields(after)
    return {name: now[name] - then[name] for name in now}


def in_parts(gained: dict[str, int]) -> str:
    return ", ".join(f"{name} {in_words(gained[name], 'bytes')}" for name in PARTS)


def misjudged(given: object, before: str, after: str) -> None:
    """Raises NotYet for a wrong answer, and names the slip if the figures give it away."""
    if not isinstance(given, tuple) or len(given) != 3 or not all(map(is_a_number, given[:2])):
        raise NotYet(
            "other-type",
            f"it returned {given}. Return lent bytes gained, own bytes gained, and one of "
            f"{tuple(WORDS)}.",
        )
    gained, (said_lent, said_own, said_word) = gains(before, after), given
    lent = gained["RssFile"]
    own = gained["VmRSS"] - lent
    word_is_right = WORDS.get(said_word) == (lent > MUCH, own > MUCH)
    if (said_lent, said_own) != (lent, own):
        cause, why = miscounted(said_lent, said_own, before, after)
        told = f"expected {lent:,} bytes lent and {own:,} own, got {said_lent:,} and {said_own:,}"
        raise NotYet(cause, f"{told}. {why}", half="the words" if word_is_right else "")
    if not word_is_right:
        known = "" if said_word in WORDS else f" It must be one of {tuple(WORDS)}, as written here."
        why = (
            f"{lent:,} bytes lent and {own:,} own are right, but the word {said_word!r} is "
            f"not.{known}"
        )
        raise NotYet("wrong-word", why, half="the bytes")


def miscounted(said_lent: float, said_own: float, before: str, after: str) -> tuple[str, str]:
    """The cause of wrong byte counts, and what to say about them."""
    gained, end = gains(before, after), fields(after)
    if said_lent == gained["RssFile"] and said_own == gained["VmRSS"]:
        return (
            "all-resident",
            "`VmRSS` adds up both parts, so it can't tell a leak from a mapping.",
        )
    if said_lent == gained["RssFile"] and said_own == gained["RssAnon"]:
        return "shared-forgotten", "`RssShmem` is own memory too: no file holds these bytes."
    if said_lent == gained["RssFile"] + gained["RssShmem"] and gained["RssShmem"]:
        return "shared-as-lent", "`RssShmem` isn't lent: no file holds these bytes."
    if said_lent == end["RssFile"] or said_own == end["RssAnon"] + end["RssShmem"]:
        return "at-the-end", "That's what it had at the end. How much of that did it have before?"
    return "wrong-bytes", "Which lines of the two texts make up each part?"
