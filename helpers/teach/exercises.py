"""Exercises: a prompt, a stub, a check that measures, two hints, a solution, and wrong answers that the tests know.

A check answers "not attempted", "not yet" with the reason, or "right", whatever the student's code does: it runs in a
fresh process, with a time and a memory limit, on a file made for this check; what it made is judged outside of it.
"""

import dis
import inspect
import linecache
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from types import CodeType
from typing import Any, Literal

import cloudpickle

from .. import folders, units
from ..measure import Recording, measure, sampler
from ..units import MiB, in_words
from . import carried, kept, lessons
from .words import Said, code, inline, paragraphs, plain

FILE = "exercises"
Outcome = Literal["not attempted", "not yet", "right"]
_hints_given: dict[str, int] = {}  # in this kernel: after a restart they are given again from the first

cloudpickle.register_pickle_by_value(carried)


@dataclass(frozen=True, eq=False)
class Verdict:
    """What a check found. `figures` are measured, in words; the Recording is there for who wants to know more."""

    outcome: Outcome
    because: str
    figures: tuple[str, ...] = ()
    recording: Recording | None = field(default=None, repr=False)

    @property
    def lead(self) -> str:
        return {"not attempted": "Not attempted yet.", "not yet": "Not yet:", "right": "Right."}[self.outcome]

    def __repr__(self) -> str:
        measured = f"\nMeasured: {' · '.join(self.figures)}" if self.figures else ""
        return f"{self.lead} {plain(self.because)}{measured}"

    def _repr_html_(self) -> str:
        measured = f"<p>Measured: {escape(' · '.join(self.figures))}</p>" if self.figures else ""
        text = f"<p><strong>{self.lead}</strong> {inline(self.because)}</p>"
        return f'<div class="zc-verdict" data-outcome="{self.outcome}">{text}{measured}</div>'


@dataclass(frozen=True)
class Attempt:
    """What a check is given: the student's function, bytes of data, seconds of time, and a folder of its own."""

    function: Any
    size: int
    timeout: float
    folder: Path

    def measure(self, runner: Callable, *args: Any, memory_limit: int) -> Recording:
        """Runs `runner(function, *args)`, one of those in carried, in a fresh process with the limits set.

        Where kinds of memory are not told apart, a second run gives the heap peak, which has to do.
        """
        return measure(
            runner,
            self.function,
            *args,
            timeout=self.timeout,
            memory_limit=memory_limit,
            heap=not kinds_are_told_apart(),
            name=getattr(self.function, "__name__", "your function"),
        )

    def unless_returned(self, run: Recording) -> Verdict | None:
        """None if the function returned; else "not yet", with what stopped it."""
        if run.ended == "returned":
            return None
        if run.ended == "timed out":
            why = f"it was still running after {self.timeout:.0f} s and was stopped. What ends it, or what is so slow?"
        elif run.ended == "memory limit":
            why = f"it was stopped when it had taken {in_words(own_memory(run), 'bytes')} of memory for itself."
        elif run.ended == "raised" and "File too large" in (run.error or ""):
            why = "it wrote on and on, far past the size of the source, and was stopped. What ends your loop?"
        elif run.ended == "raised":
            why = f"it {run.ending}{self._where(run.error or '')}"
        else:
            why = f"its process was ended ({run.ended}) before the function returned."
        return Verdict("not yet", why, recording=run)

    def _where(self, trace: str) -> str:
        """The student's own line at which it was raised, with its text where the notebook still has it."""
        file = getattr(getattr(self.function, "__code__", None), "co_filename", None)
        lines = [int(line) for name, line in re.findall(r'File "(.*)", line (\d+), in', trace) if name == file]
        text = linecache.getline(file, lines[-1]).strip() if lines else ""
        return f", in line {lines[-1]}{f': `{text}`' if text else ''}" if lines else ""


@dataclass(frozen=True)
class Exercise:
    """One exercise. `exercise("02.chunks")` shows it; the rest of its life is check, hint and solution.

    wrong: (source, a piece of the message meant for it), for the tests, and for teachers to know what will come.
    """

    key: str
    title: str
    minutes: int
    prompt: str
    starter: str
    judge: Callable[[Attempt], Verdict] = field(repr=False)
    hints: tuple[str, str]
    solution_source: str
    wrong: tuple[tuple[str, str], ...]
    size: int = 256 * MiB

    @property
    def name(self) -> str:
        """The name of the function that is asked for."""
        return re.findall(r"(?m)^def (\w+)", self.starter)[-1]

    def check(self, function: Any, *, size: int | str | None = None, timeout: float = 20) -> Verdict:
        """Judges the function, on `size` bytes (the exercise's own size, if not given) and within `timeout` seconds.

        Whatever the function does, the answer is a Verdict.
        """
        if function is None or function is Ellipsis or not is_attempted(function, self._starter_code()):
            do = "Fill in" if does_nothing(self._starter_code()) else "Change"
            tell = f"{do} `{self.name}` and run the cell again."
            return Verdict("not attempted", tell)
        if not callable(function):
            verdict = Verdict(
                "not yet", f"hand over the function itself, `check({self.name})`, and not what it returns."
            )
        elif inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            what = "an `async def`" if inspect.iscoroutinefunction(function) else "a generator (it has a `yield`)"
            verdict = Verdict(
                "not yet", f"`{self.name}` is {what}: calling it runs nothing. Write an ordinary function."
            )
        else:
            verdict = self._judged(function, units.size(self.size if size is None else size), timeout)
        kept.keep(
            FILE, self.key, {"attempts": self.attempts + 1, "right": verdict.outcome == "right" or self._was_right}
        )
        return verdict

    @property
    def attempts(self) -> int:
        """How often it was tried, in this kernel and before."""
        return self._record.get("attempts", 0)

    def hint(self) -> Said:
        """The next hint at each call."""
        given = _hints_given.get(self.key, 0)
        if given >= len(self.hints):
            return _said(f'Those were all the hints. `exercise("{self.key}").solution()` shows a solution.')
        _hints_given[self.key] = given + 1
        left = len(self.hints) - given - 1
        after = f"{left} more to come." if left else "The next step is the solution."
        return _said(f"**Hint {given + 1} of {len(self.hints)}.** {self.hints[given]} ({after})")

    def solution(self, now: bool = False) -> Said:
        """A solution, once you have tried; `now=True` shows it at once."""
        if not (now or self.attempts):
            return _said(
                "Try first: one check is enough, and a wrong answer teaches more than a read one. "
                f'If you want it at once: `exercise("{self.key}").solution(now=True)`.'
            )
        return Said(self.solution_source, f"<p><strong>A solution</strong></p>{code(self.solution_source)}")

    def made(self, source: str) -> Callable:
        """The function that `source` defines under the exercise's name, as if a cell had defined it."""
        space: dict[str, Any] = {"__name__": "__exercise__"}
        exec(compile(source, f"<{self.key}>", "exec"), space)
        return space[self.name]

    def __repr__(self) -> str:
        return f"Exercise {self.key}: {self.title} ({self.minutes} minutes)\n\n{plain(self.prompt.strip())}"

    def _repr_html_(self) -> str:
        head = f"<p><strong>Exercise: {inline(self.title)}</strong> · {self.minutes} minutes</p>"
        return f'<div class="zc-exercise" data-exercise="{escape(self.key)}">{head}{paragraphs(self.prompt)}</div>'

    @property
    def _record(self) -> dict:
        found = kept.read(FILE).get(self.key)
        return found if isinstance(found, dict) and isinstance(found.get("attempts"), int) else {}

    @property
    def _was_right(self) -> bool:
        return self._record.get("right") is True

    def _starter_code(self) -> CodeType:
        return self.made(self.starter).__code__

    def _judged(self, function: Callable, size: int, timeout: float) -> Verdict:
        try:
            with tempfile.TemporaryDirectory(
                prefix="check-", dir=folders.generated(), ignore_cleanup_errors=True
            ) as folder:
                return self.judge(Attempt(function, size, timeout, Path(folder)))
        except Exception as error:  # no room on the disk, a function that cannot be carried, …: say so, and go on
            return Verdict("not yet", f"the check could not be made: {error}")


def exercise(key: str) -> Exercise:
    """The exercise of that key. ValueError lists what there is."""
    return lessons.find(key, exercises(), "exercise")


def exercises() -> tuple[Exercise, ...]:
    """Every exercise of every lesson."""
    return tuple(exercise for lesson in lessons.all() for exercise in lesson.EXERCISES)


# --- was anything done? ---------------------------------------------------------------------------------------
def is_attempted(function: Any, starter: CodeType) -> bool:
    """False for the stub, and for a body that is only `...`, `pass`, a docstring or `raise NotImplementedError`."""
    body = getattr(function, "__code__", None)
    if not isinstance(body, CodeType):
        return True  # a built-in function, or no function at all
    return not does_nothing(body) and _shape(body) != _shape(starter) and body.co_names != ("NotImplementedError",)


def does_nothing(body: CodeType) -> bool:
    """All that it does is to return None."""
    steps = [step for step in dis.get_instructions(body) if step.opname not in ("RESUME", "NOP")]
    return all(step.opname in ("LOAD_CONST", "RETURN_VALUE", "RETURN_CONST") for step in steps) and all(
        step.argval is None for step in steps
    )


def _shape(body: CodeType) -> tuple:
    """What a function does, wherever it stands."""
    consts = tuple(_shape(const) if isinstance(const, CodeType) else repr(const) for const in body.co_consts)
    return body.co_code, body.co_names, consts


# --- what checks share ----------------------------------------------------------------------------------------
def kinds_are_told_apart() -> bool:
    """Can this machine measure anonymous, file-backed and shared memory apart?"""
    return sampler.choose().tells_kinds


def own_memory(run: Recording) -> int | None:
    """Peak of anonymous and shared memory together, bytes: what only this process can give back; None if not measured.

    Where kinds are not told apart it is None, except for a run stopped at its memory limit: then all that is resident.
    """
    if run.anonymous is None:
        return run.peak.resident if run.ended == "memory limit" else None
    return max(0, int((run.anonymous + run.shared).max(initial=0)))


def within(run: Recording, budget: int, done: str) -> Verdict:
    """The last question: was it within `budget` bytes of memory of its own? `done` says what was right already.

    Where kinds of memory are not told apart, the heap counter stands in (it sees what Python allocates, nothing else).
    """
    own, limit = own_memory(run), in_words(budget, "bytes")
    but = f"{done[0].lower()}{done[1:]}, but"
    figures = (
        f"{in_words(own, 'bytes')} anonymous at its peak (budget {limit})" if own is not None else "",
        f"{in_words(run.peak.file, 'bytes')} file-backed" if run.peak.file is not None else "",
        f"{in_words(run.heap_peak, 'bytes')} on the heap" if run.heap_peak is not None else "",
        f"{run.io.read_calls + run.io.write_calls:,} calls" if run.io.read_calls is not None else "",
        in_words(run.wall, "seconds"),
    )
    figures = tuple(figure for figure in figures if figure)
    if own is not None:
        if own <= budget:
            return Verdict("right", f"{done}, and it stayed within {limit} of anonymous memory.", figures, run)
        why = f"{but} it took {in_words(own, 'bytes')} of anonymous memory at its peak; the budget is {limit}."
        return Verdict("not yet", why, figures, run)
    if run.heap_peak is not None and run.heap_peak > budget:
        why = f"{but} the heap alone took {in_words(run.heap_peak, 'bytes')}; the budget is {limit}."
        return Verdict("not yet", why, figures, run)
    counted = "the heap counter saw no more than that" if run.heap_peak is not None else "nor was the heap"
    return Verdict(
        "right", f"{done}. Anonymous memory is not measured here, so the budget was not; {counted}.", figures, run
    )


def first_difference(path: Path, other: Path) -> int | None:
    """The first byte at which two files differ, or at which one of them ends; None if they are equal."""
    at = 0
    with path.open("rb") as one, other.open("rb") as two:
        while True:
            a, b = one.read(MiB), two.read(MiB)
            if a != b:
                least = min(len(a), len(b))
                return at + next((i for i in range(least) if a[i] != b[i]), least)
            if not a:
                return None
            at += len(a)


def _said(text: str) -> Said:
    return Said(plain(text), f"<p>{inline(text)}</p>")
