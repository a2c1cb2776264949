"""Exercises: a prompt, a starter, a check that measures, two hints, a solution. A check answers
"not attempted", "not yet" with the reason, or "right", whatever the student's code does. That code
runs in a fresh process, with a time and a memory limit, on a file made for this check; its work is
judged from outside.
"""

import difflib
import dis
import linecache
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from html import escape
from pathlib import Path
from types import CodeType
from typing import Any

import cloudpickle

from .. import folders, owners, units
from ..kernel import running_shell
from ..measure.process import NotStarted
from . import exercise_files, inside, state
from .exercise_files import Answer, Hint
from .judging import Attempt, Fence, NotYet, Verdict, must_be_readable
from .source import NotCarried, Source, handed_over, is_same, running_cell, source_named
from .words import Said, block, inline, paragraphs, plain, short

FILE = "exercises"
NOT_CARRIED = "not-carried"  # the cause of what can't be judged away from the notebook
TEACHER_S = "Your teacher has the solution."
_hints_given: dict[str, int] = {}  # in this kernel: after a restart they start from the first again

for runs_there in (inside, owners):
    cloudpickle.register_pickle_by_value(runs_there)


@dataclass(frozen=True)
class Exercise:
    """One exercise, a folder of exercises/. `exercise("02.chunks")` shows it; then come check, hint
    and solution.
    """

    key: str
    folder: Path = field(repr=False)
    prompt: str
    hints: tuple[Hint, Hint]
    starter: str
    solution_source: str | None  # None in an edition for a class, where only the teacher has it
    title: str
    minutes: int
    size: int  # bytes of data that the check works on

    @property
    def name(self) -> str:
        """The name of the function that it asks for."""
        return exercise_files.asked_for(self.starter)

    @property
    def right(self) -> list[Answer]:
        """Right answers other than the solution, for the tests."""
        return exercise_files.answers(self.folder, "right", self.name)

    @property
    def wrong(self) -> list[Answer]:
        """The likely wrong answers, for the tests, and so that teachers know what to expect."""
        return exercise_files.answers(self.folder, "wrong", self.name)

    @property
    def alone(self) -> bool:
        """Does its check measure time, so that nothing should run beside it?"""
        return getattr(exercise_files.check(self.folder), "ALONE", False)

    @property
    def cell(self) -> str:
        """The notebook's cell: the starter, and the call that checks it."""
        return f'{self.starter.rstrip()}\n\n\nexercise("{self.key}").check({self.name})'

    def check(
        self, function: Any, *, size: int | str | None = None, timeout: float = 20
    ) -> Verdict:
        """Judges the function on `size` bytes (by default the exercise's own) and within `timeout`
        seconds, whatever it does.
        """
        verdict = self.verdict(function, size=size, timeout=timeout)
        if verdict.outcome != "not attempted":
            right = verdict.outcome == "right" or self.was_right
            state.keep(FILE, self.key, {"attempts": self.attempts + 1, "right": right})
        return verdict

    def verdict(
        self,
        function: Any,
        *,
        size: int | str | None = None,
        timeout: float = 20,
        fence: Callable[[Path], Fence] = lambda folder: Fence(),
    ) -> Verdict:
        """What `check` says, without counting it as an attempt; `fence(folder)` confines the
        processes there.
        """
        size = units.size(self.size if size is None else size)
        source = None
        attempt = None
        try:
            if source := self._source(function):
                judge = exercise_files.check(self.folder).judge
                with folders.scratch_folder("check") as folder, must_be_readable(folder):
                    students = folder / "student"
                    own = folder / "judge"
                    students.mkdir()
                    own.mkdir()
                    attempt = Attempt(source, size, timeout, students, own, fence(students))
                    verdict = judge(attempt)
                if not isinstance(verdict, Verdict):
                    raise TypeError(f"its judge returned {verdict!r}; return right(…) or within(…)")
            else:
                do = "Fill in" if does_nothing(self._starter_code()) else "Change"
                verdict = Verdict("not attempted", f"{do} `{self.name}` and run the cell again.")
        except NotYet as slip:
            verdict = slip.verdict
        except NotStarted as late:
            why = "Is the machine busy, or does it import a program, which runs as it's imported?"
            verdict = NotYet("still-running", f"{late}. {why}").verdict
        except KeyboardInterrupt:
            verdict = Verdict(
                "not yet",
                "you stopped the check. Run the cell again for a verdict.",
                cause="interrupted",
            )
        except NotCarried as slip:
            verdict = Verdict("not yet", str(slip), cause=NOT_CARRIED)
        # cells nested too deep, no room on the disk, a fault of the check, …
        except Exception as error:
            begin, cause = "the check couldn't run", "not-checked"
            no_machine_s = not isinstance(error, OSError | MemoryError)
            if attempt and attempt.ran and no_machine_s:  # what no answer of ours causes
                begin, cause = "what it returned can't be looked at", "not-looked-at"
            why = f"{begin}: {short(str(error), 600)}{exercise_files.place(error, self.folder)}"
            verdict = Verdict("not yet", why, cause=cause)
        figures = tuple(short(figure, 100) for figure in verdict.figures)
        judged = _elsewhere(source)
        recording = attempt and attempt.recording
        return replace(
            verdict,
            because=short(verdict.because),
            figures=figures,
            judged=judged,
            recording=recording,
        )

    @property
    def attempts(self) -> int:
        """How often it has been tried, in this kernel and before."""
        return self._record.get("attempts", 0)

    @property
    def was_right(self) -> bool:
        return self._record.get("right") is True

    def hint(self) -> Said:
        """The next hint, at each call."""
        given = _hints_given.get(self.key, 0)
        if given == len(self.hints):
            then = (
                f'`exercise("{self.key}").solution()` shows a solution.'
                if self.solution_source
                else TEACHER_S
            )
            return _said(f"Those were all the hints. {then}")
        number = _hints_given[self.key] = given + 1
        last = (
            "The next step is the solution."
            if self.solution_source
            else f"That was the last. {TEACHER_S}"
        )
        after = "1 more to come." if number == 1 else last
        return _said(f"**Hint {number} of 2.** {self.hints[given].text} ({after})")

    def solution(self, now: bool = False) -> Said:
        """A solution, once you have tried; `now=True` shows it at once."""
        if self.solution_source is None:
            return _said(TEACHER_S)
        if not (now or self.attempts):
            first = (
                "Try first: one check is enough, and a wrong answer teaches more than reading the "
                "solution."
            )
            return _said(
                f'{first} If you want it now: `exercise("{self.key}").solution(now=True)`.'
            )
        return Said(
            self.solution_source,
            f"<p><strong>A solution</strong></p>{block(self.solution_source)}",
        )

    def reset(self) -> Said:
        """Gives the starter back, in a new cell of the notebook or at the prompt. Replaces and
        forgets nothing.
        """
        shell = running_shell()
        if shell is None:
            return Said(self.cell, block(self.cell))
        shell.set_next_input(self.cell, replace=False)
        place = "in a new cell below" if hasattr(shell, "kernel") else "at the next prompt"
        return _said(
            f"The starter is {place}. What you wrote is still there, and your tries still count."
        )

    def is_attempt(self, code: CodeType | None) -> bool:
        """Is it more than the starter, and than `...`, `pass`, a docstring or `raise
        NotImplementedError`? None stands for what isn't a `def`.
        """
        stub = code and (does_nothing(code) or code.co_names == ("NotImplementedError",))
        return not code or not (stub or is_same(code, self._starter_code()))

    def made(self, text: str) -> Callable:
        """The function that `text` defines under the exercise's name, as if a cell had
        defined it.
        """
        space: dict[str, Any] = {"__name__": "__exercise__"}
        cell = f"<{self.key} {sha256(text.encode()).hexdigest()[:8]}>"
        linecache.cache[cell] = len(text), None, text.splitlines(keepends=True), cell
        exec(compile(text, cell, "exec"), space)
        return space[self.name]

    def __repr__(self) -> str:
        return f"Exercise {self.key}: {self.title} ({self.minutes} minutes)\n\n{plain(self.prompt)}"

    def _repr_html_(self) -> str:
        head = f"<p><strong>Exercise: {inline(self.title)}</strong> · {self.minutes} minutes</p>"
        return (
            '<div class="zc-exercise"'
            f' data-exercise="{escape(self.key)}">{head}{paragraphs(self.prompt)}</div>'
        )

    @property
    def _record(self) -> dict:
        stored = state.read(FILE).get(self.key)
        return (
            stored if isinstance(stored, dict) and isinstance(stored.get("attempts"), int) else {}
        )

    def _starter_code(self) -> CodeType:
        return source_named([("<starter>", self.starter)], self.name).code

    def _source(self, function: Any) -> Source | None:
        """What is to be judged; None if nothing was attempted. Raises NotYet or NotCarried if it
        can't be judged.
        """
        if function is None or function is Ellipsis:
            return None
        if not (callable(function) or isinstance(function, Source)):
            raise NotYet(
                "no-function",
                f"hand over the function itself, `check({self.name})`, not what it returns.",
            )
        source = (
            function if isinstance(function, Source) else handed_over(function, self.name, self.key)
        )
        if not self.is_attempt(source.code):
            return None
        if what := source.runs_nothing:
            why = f"`{self.name}` is {what}: calling it runs nothing. Write an ordinary function."
            raise NotYet("runs-nothing", why)
        return source


def _elsewhere(source: Source | None) -> str:
    """Which of the kernel's cells was judged, if it isn't the one that runs."""
    shell = running_shell()
    if (
        not (shell and source and source.file.startswith("<In "))
        or source.file == f"<In [{running_cell(shell)}]>"
    ):
        return ""
    return f"`{source.name}` of cell {source.file[4:-1]}"


def exercise(key: str) -> Exercise:
    """The exercise of that key. Raises ValueError, which names the nearest; Malformed if its folder
    breaks the form.
    """
    return read(
        folders.EXERCISES.joinpath(*nearest(key, exercise_files.keys(), "exercise").split("."))
    )


def read(folder: Path) -> Exercise:
    front, prompt = exercise_files.front_matter(folder)
    key = f"{folder.parent.name}.{folder.name}"
    hints = exercise_files.hints(folder)
    starter = exercise_files.source(folder / "starter.py")
    solution = exercise_files.solution(folder, exercise_files.asked_for(starter))
    return Exercise(key, folder, prompt, hints, starter, solution, **front)


def exercises() -> tuple[Exercise, ...]:
    return tuple(map(exercise, exercise_files.keys()))


def nearest(key: str, known: Sequence[str], what: str) -> str:
    """`key`, if it is known; otherwise ValueError, which names three: those that contain it, then
    the nearest.
    """
    if key not in known:
        word = str(key).lower()
        near = [one for one in known if word and word in one] + difflib.get_close_matches(
            word, known, n=3, cutoff=0
        )
        raise ValueError(
            f"no {what} {key!r}; did you mean "
            f"{' or '.join(map(repr, list(dict.fromkeys(near))[:3]))}?"
        )
    return key


def does_nothing(body: CodeType) -> bool:
    """Does it only return None?"""
    steps = [step for step in dis.get_instructions(body) if step.opname not in ("RESUME", "NOP")]
    to_return = ("LOAD_CONST", "LOAD_COMMON_CONSTANT", "RETURN_VALUE", "RETURN_CONST")
    return all(step.opname in to_return and step.argval is None for step in steps)


def _said(text: str) -> Said:
    return Said(plain(text), paragraphs(text))
