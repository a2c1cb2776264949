"""What the outputs say about a lesson: its title, its exercises, the predictions it asks for, and the measurements."""

import ast
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from bs4 import BeautifulSoup

from ..folders import BUILD, NOTEBOOKS
from ..teach import Exercise
from ..teach import exercise as exercise_of
from ..teach.predict import Kind, Value
from ..teach.quizzes import quizzes
from ..teach.words import plain
from ..units import SIZES

KINDS: dict[str | None, Kind] = {"each": "numbers", "choices": "choice", "order": "order"}  # by an option of `predict`
EXECUTED = BUILD / "executed"  # where `make handouts` keeps the lessons that it ran


@dataclass(frozen=True)
class Question:
    """A prediction that a lesson asks for, or a quiz."""

    key: str
    text: str
    kind: Kind | Literal["quiz"] = "number"
    unit: str = ""
    names: tuple[str, ...] = ()  # of the numbers, the choices, or the things to put in order; () if they're computed
    # in the question's unit, in the form of an answer (a letter for a quiz); None if this machine hasn't run the lesson
    measured: Value | None = None


@dataclass(frozen=True)
class Lesson:
    number: str
    title: str
    questions: tuple[Question, ...] = ()


@cache
def lesson(number: str, notebooks: Path = NOTEBOOKS, executed: Path = EXECUTED) -> Lesson:
    """The lesson with this number, "02"; if there is no such lesson, its number is its title."""
    path = next(iter(sorted(notebooks.glob(f"{number}_*.ipynb"))), None) if number.isdigit() else None
    if path is None:
        return Lesson(number, f"Lesson {number}" if number else "No lesson")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    title = next(line.removeprefix("# ") for line in text.splitlines() if line.startswith("# "))
    measured = _measured(executed / path.name)
    asked = _questions(["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"])
    questions = [replace(one, measured=_in_unit(measured.get(one.key), one.unit)) for one in asked]
    for quiz in quizzes(number):
        names = tuple(f"({letter}) {plain(choice.text)}" for letter, choice in quiz.lettered)
        right = next(letter for letter, choice in quiz.lettered if choice.right)
        questions.append(Question(quiz.handed_in, quiz.question, "quiz", names=names, measured=right))
    return Lesson(number, title, tuple(questions))


@cache
def exercise(key: str) -> Exercise | None:
    """None if this edition no longer has the exercise."""
    with suppress(ValueError):
        return exercise_of(key)


def exercise_title(key: str) -> str:
    task = exercise(key)
    return task.title if task else key


def _questions(sources: list[str]) -> Iterator[Question]:
    """The calls of `predict`, read from the cells without executing them."""
    assigned: dict[str, Any] = {}
    for source in sources:
        try:
            tree = ast.parse(source)
        except SyntaxError:  # a magic
            continue
        for statement in tree.body:
            match statement:
                case ast.Assign(value=ast.Call(func=ast.Name("predict")) as call):
                    key, text = (_plain(argument, assigned) for argument in call.args)
                    options = {keyword.arg: _plain(keyword.value, assigned) for keyword in call.keywords}
                    option = next((name for name in KINDS if name in options), None)
                    kind = KINDS.get(option, "number")
                    unit = options.get("unit", "MiB") if kind in ("number", "numbers") else ""
                    yield Question(key, text or key, kind, unit, tuple(options.get(option) or ()))
                case ast.Assign([ast.Name(name)], value):
                    assigned[name] = _plain(value, assigned)


def _plain(value: ast.expr, assigned: Mapping[str, Any]) -> Any:
    """The value of an expression of constants and known names, or a dict's keys; None if only running it could tell."""
    match value:
        case ast.Name(name):
            return assigned.get(name)
        case ast.Call(func=ast.Name("list"), args=[argument]):
            return _plain(argument, assigned)
        case ast.Dict():
            value = ast.List([key for key in value.keys if key is not None])
    try:
        return ast.literal_eval(value)
    except ValueError:
        return None


def _measured(path: Path) -> dict[str, Any]:
    """The measurements that a run put beside its predictions, by key: see `Prediction.beside`. Sizes are in bytes."""
    measured = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if path.exists() else ():
        for output in cell.get("outputs", ()):
            html = "".join(output.get("data", {}).get("text/html", ()))
            if "data-predicted" in html:  # saves parsing the other outputs, some of a megabyte
                for line in BeautifulSoup(html, "html.parser").select("[data-predicted]"):
                    measured[line["data-predicted"]] = json.loads(line["data-measured"])
    return measured


def _in_unit(value: Any, unit: str) -> Any:
    if isinstance(value, dict):
        return {name: _in_unit(number, unit) for name, number in value.items() if number is not None}
    return value / SIZES[unit] if isinstance(value, int | float) and unit in SIZES else value
