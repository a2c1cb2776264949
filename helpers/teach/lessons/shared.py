"""What the exercises and quizzes of several lessons need."""

import math
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from ... import folders
from ...make import random_file
from ...units import MiB
from .. import carried
from ..exercises import Attempt, Verdict

CRASHED = ("SIGSEGV", "SIGBUS")  # for the same mistake one system gives one, and another the other


def right_for_each(
    attempt: Attempt,
    cases: Mapping[str, tuple],
    fault: Callable[..., str | None],
    who: str,
    does: Mapping[str, str],
    done: str,
    figures: tuple[str, ...] = (),
) -> Verdict:
    """Asks the student's function about each case, all in one fresh process; `done` says what was right if all were.

    cases: kind -> the function's arguments, which travel by value. fault(what it said, *arguments): what is wrong with
    it, None if nothing; what is neither a number, a tuple or list of up to 8 numbers and words, nor None comes as its
    repr. The first fault ends the check, as "for `who` `does[kind]`: …": "for a loader that keeps a copy: …".
    """
    run = attempt.measure(carried.explained, list(cases.values()), memory_limit=256 * MiB)
    stopped = attempt.unless_returned(run)
    if stopped:
        return stopped
    for (kind, case), said in zip(cases.items(), run.value, strict=True):
        why = fault(said, *case)
        if why:
            return Verdict("not yet", f"for {who} {does[kind]}: {why}", recording=run)
    return Verdict("right", done, figures, run)


def called(kind: str) -> str:
    """What a value of the type of that name is called, if it is not what was asked for: "nothing" for None."""
    return "nothing" if kind == "NoneType" else f"`{kind}`"


def is_a_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def on_a_file(answer: Callable[[Path], int | None]) -> Callable[[], int | None]:
    """The answer, found on a small file that is there for as long as it takes."""

    def found() -> int | None:
        with tempfile.TemporaryDirectory(prefix="quiz-", dir=folders.generated()) as folder:
            return answer(random_file(Path(folder) / "quiz.bin", 16 * MiB))

    return found
