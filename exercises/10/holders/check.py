"""10.holders: the three names that hold the file in each of four sessions; once they're gone, the
file is let go.
"""

import secrets
import tomllib
from pathlib import Path

from helpers.make import random_file
from helpers.teach.judging import Attempt, NotYet, Verdict, held, right
from helpers.units import KiB, MiB

NAMES = (
    "batch",
    "best",
    "cache",
    "done",
    "head",
    "job",
    "last",
    "layer",
    "model",
    "rows",
    "scores",
    "show",
    "step",
)
KINDS = tomllib.loads(Path(__file__).with_name("kinds.toml").read_text(encoding="utf-8"))
# source that makes NAME -> why it holds the file
HOLDERS = {kind["made"]: kind["why"] for kind in KINDS["holds"]}
FREE = {kind["made"]: kind["why"] for kind in KINDS["free"]}  # or why it doesn't


def run(function, sessions: list[str], path: Path, other: Path) -> list[tuple]:
    """For each session: the names that the function returned, or its answer as it prints if these
    aren't text; the session's names; and whether the file was let go when the returned names were
    deleted.

    A session is source that makes its names from `weights` and `others`, arrays over mappings of
    the two files.
    """
    import gc
    import mmap
    import weakref

    import numpy as np

    def mapped(path):
        with open(path, "rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def executed(source):
        mapping = mapped(path)
        session = {"__name__": "__main__", "weights": np.frombuffer(mapping, np.uint8)}
        session["others"] = np.frombuffer(mapped(other), np.uint8)
        exec(compile(source, "<session>", "exec"), session)
        for name in ("__name__", "__builtins__", "weights", "others"):
            session.pop(name, None)
        return session, mapping

    told, made = [], [executed(source) for source in sessions]
    sessions.clear()  # their source would tell
    while made:
        session, mapping = made.pop(0)
        names = function(session, mapping)
        texts = isinstance(names, set | frozenset | list | tuple) and all(
            isinstance(name, str) for name in names
        )
        said = sorted({str(name) for name in names}) if texts else repr(names)[:200]
        there = list(session)
        for name in said if texts else ():
            session.pop(name, None)
        seen = weakref.ref(mapping)
        del mapping, names
        gc.collect()
        told.append((said, there, seen() is None))
        session.clear()
    return told


def judge(attempt: Attempt) -> Verdict:
    path, other = (
        random_file(attempt.folder / name, 16 * KiB, seed=1)
        for name in ("weights.bin", "others.bin")
    )
    sessions = four_sessions()
    sources = [made(session) for session in sessions]
    attempt.hand_out(attempt.folder)
    still: set[str] = set()

    def look(pid: int) -> None:
        still.update(held(pid, attempt.folder))

    told = attempt.run(run, sources, path, other, memory_limit=256 * MiB, look=look).value
    for said, there, _ in told:
        if isinstance(said, str) or not set(said) <= set(there):
            why = (
                f"expected a set of names from the session, such as {{{there[-1]!r}}}, got {said}."
            )
            raise NotYet("no-names", why)
    misnamed(sessions, [said for said, _, _ in told])
    if still or not all(gone for *_, gone in told):
        why = (
            "the names are right, but once they were deleted the file was still mapped: `find` "
            "keeps something itself."
        )
        raise NotYet("kept", why)
    figures = (
        f"{len(sessions)} sessions",
        f"{len(HOLDERS)} holders",
        f"{len(FREE)} names that hold nothing",
    )
    return right(
        "You found the three in each session, and once their names were gone the file was let go.",
        figures,
    )


def four_sessions() -> list[dict[str, str]]:
    """Each session's names with the source that makes them: three that hold the file and three that
    don't, shuffled.
    """
    chance = secrets.SystemRandom()
    holders, free = (chance.sample(list(kinds), len(kinds)) for kinds in (HOLDERS, FREE))
    sessions = []
    for at in range(0, len(holders), 3):
        kinds = chance.sample([*holders[at : at + 3], *free[at : at + 3]], 6)
        sessions.append(dict(zip(chance.sample(NAMES, 6), kinds, strict=True)))
    return sessions


def made(session: dict[str, str]) -> str:
    """The source that makes a session's names."""
    return "\n\n".join(kind.replace("NAME", name) for name, kind in session.items())


def misnamed(sessions: list[dict[str, str]], given: list[list[str]]) -> None:
    """Raises NotYet about a name that was missed or shouldn't be there: the first in the order of
    the tables.
    """
    missed, too_many, helpers = {}, {}, set()
    for session, said in zip(sessions, given, strict=True):
        helpers |= set(said) - set(session)
        missed |= {
            kind: name for name, kind in session.items() if kind in HOLDERS and name not in said
        }
        too_many |= {kind: name for name, kind in session.items() if kind in FREE and name in said}
    for kind, why in HOLDERS.items():
        if kind in missed:
            how = f"It was made by `{in_a_line(kind, missed[kind])}`."
            raise NotYet(
                "missed", f"`{missed[kind]}` holds the file, and you didn't name it: {why}. {how}"
            )
    for kind, why in FREE.items():
        if kind in too_many and not (helpers and "def " in kind):
            how = f"It was made by `{in_a_line(kind, too_many[kind])}`."
            raise NotYet("holds-nothing", f"`{too_many[kind]}` doesn't hold the file: {why}. {how}")
    if helpers:
        why = (
            f"`{min(helpers)}` is a function, class or module that holds no file. A function's "
            "`__globals__` leads to all global names, and these are the session itself: don't "
            "walk through the session."
        )
        raise NotYet("through-globals", why)


def in_a_line(kind: str, name: str) -> str:
    """The source that made a name, on one line."""
    lines = [line.strip() for line in kind.replace("NAME", name).splitlines() if line.strip()]
    return "; ".join(lines).replace(":;", ":")
