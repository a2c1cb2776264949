"""Quizzes: why-questions with feedback on every choice. A choice opens to show its feedback, without a script."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from .. import folders
from . import exercise_files
from .exercises import nearest
from .words import inline, plain


@dataclass(frozen=True)
class Choice:
    text: str
    right: bool
    feedback: str


@dataclass(frozen=True)
class Quiz:
    """A question with exactly one right choice.

    `answer`, where there is one, finds the right choice's number (from 0) by measuring; None if this machine lacks a
    meter. A test runs it.
    """

    key: str
    question: str
    choices: tuple[Choice, ...]
    answer: Callable[[], int | None] | None = None

    def __repr__(self) -> str:
        lines = [f"  ({letter}) {plain(choice.text)}" for letter, choice in self._lettered()]
        tell = f'quiz("{self.key}").feedback("a") shows the feedback to (a).'
        return "\n".join([plain(self.question), *lines, tell])

    def _repr_html_(self) -> str:
        choices = "".join(
            f'<details class="zc-choice" data-right="{"yes" if choice.right else "no"}" style="margin:.3em 0">'
            f'<summary style="cursor:pointer">({letter}) {inline(choice.text)}</summary>'
            f"<p>{inline(choice.feedback)}</p></details>"
            for letter, choice in self._lettered()
        )
        question = f'<p class="zc-question"><strong>{inline(self.question)}</strong></p>'
        return f'<div class="zc-quiz" data-quiz="{escape(self.key)}">{question}{choices}</div>'

    def feedback(self, letter: str) -> str:
        """The feedback on a choice, for where nothing can be clicked. Raises ValueError for an unknown letter."""
        found = dict(self._lettered()).get(letter.strip("() ").lower())
        if found is None:
            raise ValueError(f"{letter!r} isn't a choice; there are: {', '.join(dict(self._lettered()))}")
        return plain(found.feedback)

    def _lettered(self) -> list[tuple[str, Choice]]:
        return list(zip(ascii_lowercase, self.choices, strict=False))


def quiz(key: str) -> Quiz:
    """The quiz of that key, to display: `quiz("02.counter")`. Raises ValueError, which lists the keys."""
    known = {found.key: found for found in quizzes(f"{key}"[:2])}
    return known[key] if key in known else known[nearest(key, [found.key for found in quizzes()], "quiz")]


def quizzes(lesson: str = "[0-9][0-9]") -> tuple[Quiz, ...]:
    """Every quiz of every lesson, or of one lesson: "02"."""
    lessons = sorted(folders.EXERCISES.glob(lesson))
    return tuple(_quiz(lesson, *found) for lesson in lessons for found in exercise_files.quizzes(lesson))


def _quiz(lesson: Path, name: str, entry: Mapping[str, Any]) -> Quiz:
    choices = (Choice(_line(c["text"]), c.get("right", False), _line(c["feedback"])) for c in entry["choices"])
    found_by = entry.get("measured_by")
    answer = partial(exercise_files.measured_by, lesson, found_by) if found_by else None
    return Quiz(f"{lesson.name}.{name}", _line(entry["question"]), tuple(choices), answer)


def _line(text: str) -> str:
    """A text of several lines on one line."""
    return " ".join(text.split())
