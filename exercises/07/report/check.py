"""07.report: how the last step of each of sixteen processes ends; they run for this check, and are
recorded.
"""

import secrets
import tomllib
from collections.abc import Sequence
from pathlib import Path

from helpers.make import random_file
from helpers.measure import measure
from helpers.teach.judging import Attempt, NotYet, Verdict, right_for_each
from helpers.units import KiB

Steps = tuple[tuple[str, str, str | None], ...]
WORDS = ("BufferError", "crash", "done")
LETTERS = "acdehsvw"
NAMES = ("batch", "cache", "header", "labels", "layer", "rows", "scores", "shard", "totals")
PYTHON = {
    "mmap": "{name} = mmap.mmap({file})",
    "bytearray": "{name} = bytearray(4096)",
    "memoryview": "{name} = memoryview({source})",
    "frombuffer": '{name} = np.frombuffer({source}, "u1")',
    "ndarray": '{name} = np.ndarray({shape}, "u1", {source})',
    "slice": "{name} = {source}[1:]",
    "copy": "{name} = bytes({source})",
    "name": "{name} = {source}",
    "release": "{name}.release()",
    "del": "del {name}",
    "close": "{name}.close()",
    "append": "{name}.append(1)",
    "write": "{name}[0] = 1",
}


def run(cases: list[Steps], path: str) -> list[tuple[str, ...]]:
    """What really happens at the last step of each case, in the exercise's terms; each try runs in
    a fork.

    Finds by trial which names hold the bytes: with that name alone, and all other views dropped, is
    the last step still refused? Finds which names dangle by reading through them afterwards.
    wait(2) reports the signal.
    """
    import mmap
    import os

    import numpy as np

    def do(space: dict, what: str, name: str, source: str | None) -> None:
        file, shape = "file.fileno(), 0, access=mmap.ACCESS_READ", f"len({source})"
        exec(PYTHON[what].format(name=name, source=source, file=file, shape=shape), space)

    def made(steps: Steps) -> dict:
        """The names, as they are before the last step."""
        with open(path, "rb") as file:
            space = {"np": np, "mmap": mmap, "file": file}
            for step in steps[:-1]:
                do(space, *step)
        return space

    def end(steps: Steps, drop=(), read: str = "") -> int:
        """0 if the last step was not refused, 1 if it was, less than 0 for a signal; anything else
        is a fault.
        """
        pid = os.fork()
        if pid:
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        code = 3
        try:
            space = made(steps)
            for name in drop:
                del space[name]
            try:
                do(space, *steps[-1])
                code = 0
            except BufferError:
                code = 1
            if read:
                bytes(space[read])
        finally:
            os._exit(code)

    found = []
    for steps in cases:
        space, names = made(steps), {name for _, name, _ in steps}
        views = [
            name
            for name in names & space.keys()
            if not isinstance(space[name], mmap.mmap | bytearray)
        ]
        space.clear()
        code = end(steps)
        if code not in (0, 1):
            raise OSError(f"the steps {steps} ended with {code}, before any view was read")
        if code == 1:
            who = [
                view
                for view in views
                if end(steps, drop=[other for other in views if other != view]) == 1
            ]
            found.append(("BufferError", *who))
        else:
            who = [view for view in views if end(steps, read=view) < 0]
            found.append(("crash", *who) if who else ("done",))
    return found


def recorded(names: dict[str, str]) -> dict[str, dict]:
    """Each kind of process: what it `does`, its `steps` and its `end`, with names for the letters,
    and `why`.
    """
    cases = tomllib.loads(Path(__file__).with_name("recorded.toml").read_text(encoding="utf-8"))
    for case in cases.values():
        words = (step.split() for step in case["steps"])
        case["steps"] = tuple(
            (what, names[name], names[of[0]] if of else None) for what, name, *of in words
        )
        case["end"] = (case["end"][0], *(names[letter] for letter in case["end"][1:]))
    return cases


def live_ends(attempt: Attempt, cases: list[Steps]) -> list[tuple[str, ...]]:
    """How each case's last step really ends; nothing where there is no fork, or they can't be
    run.
    """
    path = random_file(attempt.folder / "mapped.bin", 16 * KiB, seed=secrets.randbelow(2**32))
    seen = measure(run, cases, str(path), name="the processes to be explained")
    return seen.value if seen.ended == "returned" else []


def judge(attempt: Attempt) -> Verdict:
    """Asks about processes run for this check, or recorded processes if those differ or can't be
    run.
    """
    cases = recorded(
        dict(zip(LETTERS, secrets.SystemRandom().sample(NAMES, len(LETTERS)), strict=True))
    )
    asked = {case["steps"]: (kind, case) for kind, case in cases.items()}
    ends = [case["end"] for case in cases.values()]
    live = live_ends(attempt, list(asked))
    where = "were recorded on another machine: this one doesn't show the same"
    if list(map(sorted, live)) == list(map(sorted, ends)):
        where = "ran a moment ago"
    return right_for_each(
        attempt,
        {kind: (case["steps"],) for kind, case in cases.items()},
        lambda said, steps: misread(said, *asked[steps]),
        who="a process that",
        does={kind: case["does"] for kind, case in cases.items()},
        done=f"You explained {len(cases)} processes that {where}.",
        figures=tuple(f"{word}: {[end[0] for end in ends].count(word)}" for word in WORDS),
    )


def misread(said: object, kind: str, case: dict) -> None:
    """Raises NotYet for a wrong answer: says what really happened, and why. Its cause is the kind
    of process.
    """
    told = (said.strip("'\""),) if isinstance(said, str) else said  # a word alone comes as its repr
    did = "; ".join(
        PYTHON[what].format(name=name, source=source, file="…", shape="…")
        for what, name, source in case["steps"]
    )
    if (
        not isinstance(told, tuple)
        or not told
        or told[0] not in WORDS
        or not all(type(word) is str for word in told)
    ):
        why = (
            f"expected one of {', '.join(WORDS)}, followed by each name; got {said}. The process "
            f"did `{did}`."
        )
        raise NotYet("other-type", why)
    (word, *names), last = case["end"], case["steps"][-1]
    if (told[0], set(told[1:])) != (word, set(names)):
        happened = {
            "BufferError": f"raised BufferError, and {listed(names)} held the bytes",
            "crash": f"was not refused, and then reading {listed(names)} crashed the process",
            "done": "was not refused, and nothing was wrong afterwards",
        }[word]
        answer = f"you said {told[0]} {listed(told[1:])}".strip()
        why = (
            f"{answer}, but the last step, `{last[0]} {last[1]}`, {happened}. {case['why']} The "
            f"process did `{did}`."
        )
        raise NotYet(kind, why, half="how each process ends" if told[0] == word else "")


def listed(names: Sequence[str]) -> str:
    return " and ".join(f"`{name}`" for name in sorted(names))
