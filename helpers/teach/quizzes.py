"""Quizzes: why-questions with feedback on every choice. What the student clicks is kept, and opens
its feedback. Without a kernel a choice opens all the same, without a script.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from html import escape
from string import ascii_lowercase

import ipywidgets as widgets

from .. import folders
from ..widgets import INPUTS, Lasting
from . import exercise_files, state, wall_client
from .exercises import nearest
from .words import badge, inline, plain

FILE = "quizzes"
CLICK = '<em class="zc-click">Click an answer.</em>'


@dataclass(frozen=True)
class Choice:
    text: str
    right: bool
    feedback: str

    @property
    def reply(self) -> str:
        """What a click on it shows, as HTML."""
        came, word = ("right", "Right.") if self.right else ("wrong", "Not this one.")
        return f"<p>{badge(came, word)} {inline(self.feedback)}</p>"


@dataclass(frozen=True, eq=False)
class Quiz(Lasting):
    """A question with exactly one right choice. `answer`, where there is one, finds the right
    choice's number (from 0) by measuring; None if this machine lacks a meter. A test runs it.
    """

    key: str
    question: str
    choices: tuple[Choice, ...]
    answer: Callable[[], int | None] | None = None

    @property
    def clicked(self) -> str:
        """The letters of the choices that the student has opened, in that order: the first is the
        student's answer.
        """
        stored = state.read(FILE).get(self.key)
        return stored if isinstance(stored, str) and set(stored) <= set(dict(self.lettered)) else ""

    @property
    def solved(self) -> bool:
        return any(choice.right for letter, choice in self.lettered if letter in self.clicked)

    @property
    def handed_in(self) -> str:
        """Its key among the predictions that are handed in, where no prediction has this form:
        "02.quiz-counter".
        """
        return f"{self.key[:3]}quiz-{self.key[3:]}"

    @property
    def lettered(self) -> list[tuple[str, Choice]]:
        return list(zip(ascii_lowercase, self.choices, strict=False))

    def __repr__(self) -> str:
        lines = [f"  ({letter}) {plain(choice.text)}" for letter, choice in self.lettered]
        return "\n".join(
            [plain(self.question), *lines, f'quiz("{self.key}").feedback("a") answers (a).']
        )

    def _repr_html_(self) -> str:
        choices = "".join(
            f'<details class="zc-choice" data-right="{"yes" if choice.right else "no"}"'
            ' style="margin:.3em 0"'
            f"{' open' if letter in self.clicked else ''}>"
            f'<summary style="cursor:pointer">({letter})'
            f" {inline(choice.text)}</summary>{choice.reply}</details>"
            for letter, choice in self.lettered
        )
        question = f'<p class="zc-question"><strong>{inline(self.question)}</strong> {CLICK}</p>'
        return f'<div class="zc-quiz" data-quiz="{escape(self.key)}">{question}{choices}</div>'

    def feedback(self, letter: str) -> str:
        """The feedback on a choice, for where nothing can be clicked. Raises ValueError for an
        unknown letter.
        """
        given = letter.strip("() ").lower()
        choices = dict(self.lettered)
        if given not in choices:
            raise ValueError(f"{letter!r} isn't a choice; there are: {', '.join(choices)}")
        self._keep(given)
        return (
            f"{'Right.' if choices[given].right else 'Not this one.'} "
            f"{plain(choices[given].feedback)}"
        )

    def _keep(self, letter: str) -> None:
        if letter not in self.clicked:
            if not self.clicked:
                wall_client.vote(self.handed_in, letter)
            state.keep(FILE, self.key, self.clicked + letter)
        self.renew()

    @cached_property
    def widget(self) -> widgets.Widget:
        """A button for each choice, made once, so that every display shows the same state."""
        box = widgets.VBox(
            [widgets.HTML(f"{INPUTS}<strong>{inline(self.question)}</strong> {CLICK}")]
        )
        for letter, choice in self.lettered:
            button = widgets.Button(description=f"({letter}) {plain(choice.text)}")
            reply = f'<div role="status">{choice.reply}</div>'
            below = widgets.HTML(reply if letter in self.clicked else "")
            button.on_click(partial(self._click, letter, reply, below))
            box.children += button, below
        box.add_class("zc-inputs")
        return box

    def _click(self, letter: str, reply: str, below: widgets.HTML, _: widgets.Button) -> None:
        self._keep(letter)
        sent = wall_client.said(self.handed_in)
        below.value = reply + (f"<p><em>{sent[0].upper()}{sent[1:]}.</em></p>" if sent else "")


def quiz(key: str) -> Quiz:
    """The quiz of that key, to display: `quiz("02.counter")`. Raises ValueError, which lists the
    keys.
    """
    of_its_lesson = {one.key: one for one in quizzes(f"{key}"[:2])}
    return of_its_lesson[
        key if key in of_its_lesson else nearest(key, [one.key for one in quizzes()], "quiz")
    ]


def quizzes(lesson: str = "[0-9][0-9]") -> tuple[Quiz, ...]:
    """Every quiz of every lesson, or of one lesson: "02"."""
    return tuple(
        Quiz(
            f"{folder.name}.{name}",
            _line(entry["question"]),
            tuple(
                Choice(_line(c["text"]), c.get("right", False), _line(c["feedback"]))
                for c in entry["choices"]
            ),
            (
                partial(exercise_files.measured_by, folder, entry["measured_by"])
                if "measured_by" in entry
                else None
            ),
        )
        for folder in sorted(folders.EXERCISES.glob(lesson))
        for name, entry in exercise_files.quizzes(folder)
    )


def _line(text: str) -> str:
    return " ".join(text.split())  # on one line
