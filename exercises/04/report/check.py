"""04.report: bytes taken, and the word, for four workers that use data in each of five ways."""

import mmap
import secrets
import tomllib
from pathlib import Path

from helpers.make import random_file
from helpers.measure import Recording, maps, measure
from helpers.teach.judging import Attempt, NotYet, Verdict, is_a_number, right_for_each
from helpers.units import KiB, MiB, in_words

Crowd = tuple[list[dict[str, int]], list[dict[str, int]]]  # a dict of bytes for each worker: before, after

KINDS = {
    "list": "read a list of strings that was there before the fork",
    "patches": "change every page of a private map, which they had touched before",
    "array": "read one array that was there before the fork",
    "reads": "each read the same file into memory",
    "maps": "each map the same file and touch every page",
}
METERS = ("rss", "pss", "anonymous", "private_dirty")
WORDS = ("copied", "own", "lent", "flat")
COUNT, GROWN = 4, 8 * MiB


def recorded() -> dict[str, Crowd]:
    """Such workers on another machine."""
    found = tomllib.loads(Path(__file__).with_name("recorded.toml").read_text())

    def in_bytes(workers: list[list[int]]) -> list[dict[str, int]]:
        return [{name: kb * KiB for name, kb in zip(METERS, worker, strict=True)} for worker in workers]

    return {kind: (in_bytes(crowd["before"]), in_bytes(crowd["after"])) for kind, crowd in found.items()}


def judge(attempt: Attempt) -> Verdict:
    """Of workers started for this check; where they cannot be read, of recorded ones."""
    live = {} if maps.why_not() else live_crowds(attempt)
    crowds = {kind: seen.value for kind, seen in live.items()} or recorded()
    figures = tuple(f"{kind}: {in_words(taken(crowd), 'bytes')} taken" for kind, crowd in crowds.items())
    where = "that were running a moment ago" if live else "recorded on another machine: they cannot be read here"
    done = (
        f"You read the figures of {COUNT * len(crowds)} workers {where}. The first two kinds did quite different "
        "things; to the kernel both wrote to pages that they shared."
    )
    return right_for_each(attempt, crowds, misread, "workers that", KINDS, done, figures)


def live_crowds(attempt: Attempt) -> dict[str, Recording]:
    """Each kind's four workers; the Recording's value is what they had before and after. OSError if they failed."""
    size = 40 * MiB + mmap.PAGESIZE * secrets.randbelow(8 * MiB // mmap.PAGESIZE)
    path = random_file(attempt.folder / "crowd.bin", size, seed=secrets.randbelow(2**32))
    runs = {kind: measure(crowd, kind, str(path), size, name=kind) for kind in KINDS}
    for run in runs.values():
        if run.ended != "returned":
            raise OSError(f"the workers to be explained ({run.name}) did not run: {run.ending}")
    return runs


def crowd(kind: str, path: str, size: int, count: int = COUNT) -> Crowd:
    """What `count` forks of this process have, bytes, before and after each has used data in the way `kind` names.

    From proc_pid_smaps(5): rss, pss, anonymous, private_dirty. Garbage is not collected meanwhile: that would write.
    """
    import gc
    import mmap
    import os

    gc.disable()
    every_page = range(0, size, mmap.PAGESIZE)
    data = None
    if kind == "list":
        data = [f"{i:08}" * 12 for i in range(size // 160)]
    elif kind == "array":
        data = bytearray(b"1") * size

    def mapped(access):
        with open(path, "rb") as file:
            mapping = mmap.mmap(file.fileno(), size, access=access)
        return mapping, sum(mapping[at] for at in every_page)

    def use(held):
        if kind == "list":
            sum(len(one) for one in data)
        elif kind == "array":
            sum(data[at] for at in every_page)
        elif kind == "maps":
            return mapped(mmap.ACCESS_READ)
        elif kind == "reads":
            with open(path, "rb") as file:
                return file.read(size)
        elif kind == "patches":
            for at in every_page:
                held[0][at] = 1
        return held

    def reading(pid):
        with open(f"/proc/{pid}/smaps_rollup") as file:
            found = {words[0]: int(words[1]) * 1024 for words in map(str.split, file) if words[-1] == "kB"}
        names = {"rss": "Rss:", "pss": "Pss:", "anonymous": "Anonymous:", "private_dirty": "Private_Dirty:"}
        return {name: found[line] for name, line in names.items()}

    workers = []
    for _ in range(count):
        orders, answers = os.pipe(), os.pipe()
        pid = os.fork()
        if not pid:
            try:
                os.close(orders[1])
                held = mapped(mmap.ACCESS_COPY) if kind == "patches" else None
                os.write(answers[1], b"1")
                os.read(orders[0], 1)
                held = use(held)
                os.write(answers[1], b"2")
                os.read(orders[0], 1)
            finally:
                os._exit(0)
        os.close(orders[0])
        os.close(answers[1])
        workers.append((pid, orders[1], answers[0]))
    moments = []
    for _ in "12":
        if not all(os.read(answer, 1) for _, _, answer in workers):
            raise OSError(f"a worker of the kind {kind!r} has died")
        moments.append([reading(pid) for pid, _, _ in workers])
        for _, order, _ in workers:
            os.write(order, b"1")
    for pid, order, answer in workers:
        os.close(order)
        os.close(answer)
        os.waitpid(pid, 0)
    return moments[0], moments[1]


def growth(crowd: Crowd, meter: str) -> int:
    """By how many bytes all workers together grew."""
    before, after = (sum(worker[meter] for worker in moment) for moment in crowd)
    return after - before


def taken(crowd: Crowd) -> int:
    """Bytes that the workers took for themselves: changed, and shared with nobody."""
    return growth(crowd, "private_dirty")


def word(crowd: Crowd) -> str:
    """Which of WORDS it is."""
    most = GROWN * len(crowd[0])
    resident = growth(crowd, "rss") > most
    if taken(crowd) > most:
        return "own" if resident else "copied"
    return "lent" if resident else "flat"


def misread(given: object, *crowd: list[dict[str, int]]) -> None:
    """NotYet says what the slip was, as far as the figures tell."""
    if not isinstance(given, tuple) or len(given) != 2 or not is_a_number(given[0]):
        words = ", ".join(map(repr, WORDS))
        raise NotYet("other-type", f"it returned {given!r}. Return two things: the bytes taken, and one of {words}.")
    right, before, after = taken(crowd), *crowd
    if given[0] != right:
        cause, why = miscounted(given[0], crowd)
        raise NotYet(cause, f"you gave {in_words(given[0], 'bytes')} as taken. {why}")
    if given[1] != word(crowd):
        why = (
            f"the bytes are right, but not the word {given[1]!r}: for each worker, RSS grew by "
            f"{in_words(growth(crowd, 'rss') / len(after), 'bytes')}, and it took "
            f"{in_words(right / len(before), 'bytes')} for itself."
        )
        raise NotYet("wrong-word", why)


def miscounted(given: float, crowd: Crowd) -> tuple[str, str]:
    """Cause and words for bytes that are not those taken."""
    slips = {
        growth(crowd, "rss"): (
            "wrong-meter",
            "That is the growth of RSS, which counts a page in full in every process that has it, whoever shares it. "
            "It stays the same when a shared page is copied, and it grows when a page is lent.",
        ),
        growth(crowd, "pss"): (
            "wrong-meter",
            "That is the growth of PSS. It also grows by a worker's part of what all of them share, and it does not "
            "grow by the part that the worker had before its copy.",
        ),
        growth(crowd, "anonymous"): (
            "wrong-meter",
            "That is the growth of anonymous memory. What a worker has from a fork is anonymous, shared or not, so a "
            "copy does not change that figure.",
        ),
        sum(worker["private_dirty"] for worker in crowd[1]): (
            "at-the-end",
            "That is what they have at the end. What did they have before?",
        ),
        taken(crowd) // len(crowd[0]): (
            "one-worker",
            "That is one worker, on the average. Take all of them together.",
        ),
    }
    asked = "Which of the four figures counts what one process has changed and shares with nobody?"
    return slips.get(given, ("wrong-taken", asked))
