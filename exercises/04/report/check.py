"""04.report: bytes taken, and the word, for four workers that use data in each of six ways."""

import secrets
import tomllib
from pathlib import Path

from helpers.make import random_file
from helpers.measure import maps, measure
from helpers.measure.jsonable import fields
from helpers.teach.judging import Attempt, NotYet, Verdict, is_a_number, right_for_each
from helpers.units import KiB, MiB, in_words

# a dict of bytes for each worker: before, after
Crowd = tuple[list[dict[str, int]], list[dict[str, int]]]

KINDS = {
    "list": "read a list of strings that was there before the fork",
    "patches": "change every page of a private mapping that they had touched before",
    "array": "read one array that was there before the fork",
    "reads": "each read the same file into memory",
    "maps": "each map the same file and touch every page",
    "one": "do nothing, except for the last, which reads half a file into memory",
}
# as in the kernel
METERS = {"rss": "Rss", "pss": "Pss", "anonymous": "Anonymous", "private_dirty": "Private_Dirty"}
COUNT, GROWN = 4, 8 * MiB
WORDS = {  # did they take more than GROWN each, on average? did their RSS grow by more than that?
    "copied": (True, False),
    "own": (True, True),
    "lent": (False, True),
    "flat": (False, False),
}


def recorded() -> dict[str, Crowd]:
    """The figures of such workers on another machine."""
    text = Path(__file__).with_name("recorded.toml").read_text()
    return {kind: (crowd["before"], crowd["after"]) for kind, crowd in tomllib.loads(text).items()}


def judge(attempt: Attempt) -> Verdict:
    """Asks about workers started for this check, or recorded workers where those can't be read."""
    live, size = not maps.why_not(), 40 * MiB + 4 * KiB * secrets.randbelow(2048)
    path = random_file(attempt.folder / "crowd.bin", size, seed=secrets.randbelow(2**32))
    crowds = {kind: live_crowd(kind, path, size) for kind in KINDS} if live else recorded()
    figures = tuple(
        f"{kind}: {in_words(growth(crowd, 'private_dirty'), 'bytes')} taken"
        for kind, crowd in crowds.items()
    )
    where = (
        "that were running a moment ago"
        if live
        else "recorded on another machine: they can't be read here"
    )
    done = f"You read the figures of {COUNT * len(crowds)} workers {where}."
    return right_for_each(attempt, crowds, misread, "workers that", KINDS, done, figures)


def live_crowd(kind: str, path: Path, size: int) -> Crowd:
    """What four such workers had, from smaps_rollup, proc_pid_smaps(5). Raises OSError if they
    failed.
    """
    run = measure(crowd, kind, path, size, COUNT, name=kind)
    if run.ended != "returned":
        raise OSError(f"the workers to be explained ({kind}) did not run: {run.ending}")
    return tuple(
        [{name: fields(text)[line] for name, line in METERS.items()} for text in texts]
        for texts in run.value
    )


def crowd(kind: str, path: Path, size: int, count: int) -> list[list[str]]:
    """The smaps_rollup of each of `count` forks of this process, before and after they use data the
    way `kind` says.

    Garbage collection is off meanwhile, because it writes.
    """
    import gc
    import mmap
    import multiprocessing
    from pathlib import Path

    gc.disable()
    every_page = range(0, size, mmap.PAGESIZE)
    data = (
        [f"{i:08}" * 12 for i in range(size // 160)] if kind == "list" else bytearray(b"1") * size
    )

    def mapped(access):
        with open(path, "rb") as file:
            mapping = mmap.mmap(file.fileno(), size, access=access)
        sum(mapping[at] for at in every_page)
        return mapping

    def work(last):
        held = mapped(mmap.ACCESS_COPY) if kind == "patches" else None
        together.wait()  # until all are ready
        together.wait()  # until all have been read
        if kind == "list":
            sum(len(text) for text in data)
        elif kind == "array":
            sum(data[at] for at in every_page)
        elif kind == "maps":
            held = mapped(mmap.ACCESS_READ)
        elif kind == "reads":
            held = Path(path).read_bytes()
        elif kind == "patches":
            for at in every_page:
                held[at] = 1
        elif kind == "one" and last:
            with open(path, "rb") as file:
                held = file.read(size // 2)
        together.wait()
        together.wait()

    forks = multiprocessing.get_context("fork")
    together = forks.Barrier(count + 1, timeout=30)
    workers = [forks.Process(target=work, args=(i == count - 1,)) for i in range(count)]
    for worker in workers:
        worker.start()
    moments = []
    for _ in ("before", "after"):
        together.wait()
        moments.append([Path(f"/proc/{worker.pid}/smaps_rollup").read_text() for worker in workers])
        together.wait()
    for worker in workers:
        worker.join()
    return moments


def growth(crowd: Crowd, meter: str) -> int:
    """How many bytes all workers together grew by."""
    before, after = (sum(worker[meter] for worker in moment) for moment in crowd)
    return after - before


def misread(given: object, *crowd: list[dict[str, int]]) -> None:
    """Raises NotYet for a wrong answer, and names the slip if the figures give it away."""
    if not isinstance(given, tuple) or len(given) != 2 or not is_a_number(given[0]):
        raise NotYet(
            "other-type",
            f"it returned {given}. Return two things: the bytes taken, and one of {tuple(WORDS)}.",
        )
    (said, said_word), taken, more = given, growth(crowd, "private_dirty"), growth(crowd, "rss")
    word_is_right = WORDS.get(said_word) == (taken > GROWN * COUNT, more > GROWN * COUNT)
    if said != taken:
        cause, why = miscounted(said, crowd)
        told = f"expected {taken:,} bytes taken, got {said:,}. {why}"
        raise NotYet(cause, told, half="the words" if word_is_right else "")
    if not word_is_right:
        resident, own = in_words(more / COUNT, "bytes"), in_words(taken / COUNT, "bytes")
        why = f"on average, a worker's RSS grew by {resident}, and it took {own} for itself"
        why = f"the bytes are right, but the word {said_word!r} isn't: {why}."
        raise NotYet("wrong-word", why, half="the bytes")


def miscounted(said: float, crowd: Crowd) -> tuple[str, str]:
    """The cause of a wrong byte count, and what to say about it."""
    if meters := [f"`{meter}`" for meter in METERS if said == growth(crowd, meter)]:
        why = (
            f"That is the growth of {' or '.join(meters)}, which counts shared pages too, in full "
            "or in part."
        )
        return "wrong-meter", why
    if said == sum(worker["private_dirty"] for worker in crowd[1]):
        return (
            "at-the-end",
            "That's what they have at the end. How much of that did they have before?",
        )
    why = (
        "Which of the four figures counts what a process changed and shares with nobody? Add it up "
        "over all workers."
    )
    return "wrong-taken", why
