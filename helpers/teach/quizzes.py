"""Quizzes: why-questions with a word to every choice. A choice opens to its feedback, without a script."""

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from string import ascii_lowercase

from . import lessons
from .words import inline, plain


@dataclass(frozen=True)
class Choice:
    text: str
    right: bool
    feedback: str


@dataclass(frozen=True)
class Quiz:
    """A question with exactly one right choice.

    `answer` finds the right choice's number (from 0) by measuring, where that can be done; None if this machine lacks
    a meter. A test runs it. ValueError for a quiz with no right choice, or with two, or a choice without feedback.
    """

    key: str
    question: str
    choices: tuple[Choice, ...]
    answer: Callable[[], int | None] | None = None

    def __post_init__(self) -> None:
        right = sum(choice.right for choice in self.choices)
        if right != 1:
            raise ValueError(f"quiz {self.key!r} has {right} right choices; it needs one")
        silent = [choice.text for choice in self.choices if not choice.feedback.strip()]
        if silent:
            raise ValueError(f"quiz {self.key!r} has no feedback for {silent[0]!r}")

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
        """What there is to say to a choice, where nothing can be clicked. ValueError for a letter that is none."""
        found = dict(self._lettered()).get(letter.strip("() ").lower())
        if found is None:
            raise ValueError(f"{letter!r} is no choice; there are: {', '.join(dict(self._lettered()))}")
        return plain(found.feedback)

    def _lettered(self) -> list[tuple[str, Choice]]:
        return list(zip(ascii_lowercase, self.choices, strict=False))


def quiz(key: str) -> Quiz:
    """The quiz of that key, to be displayed: `quiz("02.counter")`. ValueError lists what there is."""
    return lessons.find(key, quizzes(), "quiz")


def quizzes() -> tuple[Quiz, ...]:
    """Every quiz of every lesson."""
    return tuple(quiz for lesson in lessons.all() for quiz in lesson.QUIZZES)
