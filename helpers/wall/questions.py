"""What a lesson asks: its predictions and quizzes, and what was measured."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from bs4 import BeautifulSoup

from ..folders import BUILD, DATA, NOTEBOOKS, write_whole
from ..teach.predict import Kind, Prediction, Value
from ..teach.quizzes import quizzes
from ..teach.words import plain
from ..units import SIZES

EXECUTED = BUILD / "executed"  # where `make handouts` keeps the lessons that it ran
QUESTIONS = DATA / "questions.json"  # as they were asked, and measured, on another machine


@dataclass(frozen=True)
class Question:
    """A prediction that a lesson asks for, or a quiz."""

    key: str
    text: str
    kind: Kind | Literal["quiz"] = "number"
    unit: str = ""
    # of the numbers ("" for a single one), the choices, or the things to put in order
    names: tuple[str, ...] = ()
    most: float | None = None
    measured: Value | None = (
        None  # in the question's unit, in the form of an answer (a letter for a quiz)
    )
    recorded: bool = False  # was it measured on another machine?

    @property
    def prediction(self) -> Prediction:
        """What reads and checks an answer. Not for a quiz."""
        return Prediction(self.key, self.text, self.kind, self.unit, self.names or ("",), self.most)


@dataclass(frozen=True)
class Lesson:
    number: str
    title: str
    questions: tuple[Question, ...] = ()


@cache
def lesson(number: str, notebooks: Path = NOTEBOOKS, executed: Path = EXECUTED) -> Lesson:
    """The lesson with this number, "02"; if there is no such lesson, its number is its title."""
    path = (
        next(iter(sorted(notebooks.glob(f"{number}_*.ipynb"))), None) if number.isdigit() else None
    )
    if path is None:
        return Lesson(number, f"Lesson {number}" if number else "No lesson")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    title = next(line.removeprefix("# ") for line in text.splitlines() if line.startswith("# "))
    asked, measured = _asked(executed / path.name)
    kept = json.loads(QUESTIONS.read_text(encoding="utf-8")) if QUESTIONS.exists() else {}
    questions = []
    for key, one in (
        {key: one for key, one in kept.items() if key.startswith(number)} | asked
    ).items():
        here = in_unit(measured.get(key), one["unit"])
        elsewhere = kept.get(key, {}).get("measured") if here is None else None
        values = one | {
            "measured": elsewhere if here is None else here,
            "recorded": elsewhere is not None,
        }
        questions.append(question(key, values))
    for quiz in quizzes(number):
        names = tuple(f"({letter}) {plain(choice.text)}" for letter, choice in quiz.lettered)
        right = next(letter for letter, choice in quiz.lettered if choice.right)
        questions.append(
            Question(quiz.handed_in, quiz.question, "quiz", names=names, measured=right)
        )
    return Lesson(number, title, tuple(questions))


def question(key: str, values: Mapping[str, Any]) -> Question:
    """From plain data, as in QUESTIONS or as `Prediction.asked`. TypeError or KeyError if something
    is wrong.
    """
    values = dict(values)
    return Question(key, text=values.pop("question"), names=tuple(values.pop("names")), **values)


def _asked(path: Path) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Of a lesson that was run: the questions that it asks, and what it measured, by key. Sizes are
    in bytes.
    """
    asked, measured = {}, {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if path.exists() else ():
        for output in cell.get("outputs", ()):
            html = "".join(output.get("data", {}).get("text/html", ()))
            # saves parsing the other outputs, some of a megabyte
            if "data-asked" in html or "data-predicted" in html:
                page = BeautifulSoup(html, "html.parser")
                asked |= {
                    one["data-predict"]: json.loads(one["data-asked"])
                    for one in page.select("[data-asked]")
                }
                for line in page.select("[data-predicted]"):
                    measured[line["data-predicted"]] = json.loads(line["data-measured"])
    return asked, measured


def in_unit(value: Any, unit: str) -> Any:
    """A measurement in the unit of its question."""
    if isinstance(value, dict):
        return {name: in_unit(number, unit) for name, number in value.items() if number is not None}
    return value / SIZES[unit] if isinstance(value, int | float) and unit in SIZES else value


def record(executed: Path = EXECUTED) -> None:
    """Keeps the questions of all lessons, as `make record` has run them, with what they
    measured.
    """
    kept = {}
    for path in sorted(executed.glob("[0-9][0-9]_*.ipynb")):
        asked, measured = _asked(path)
        kept |= {
            key: one | {"measured": in_unit(measured.get(key), one["unit"])}
            for key, one in asked.items()
        }
    write_whole(QUESTIONS, json.dumps(kept, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    record()
