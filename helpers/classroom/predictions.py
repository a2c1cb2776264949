"""Pictures of what a class predicted for each question, beside the measurement, and of its answers to quizzes; without
anybody's name."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from ..show.figure import Picture
from ..teach.words import plain
from .charts import spread, votes
from .lessons import Lesson, Question
from .store import HandIn

MIN_ANSWERS = 5  # with fewer answers nothing is drawn
MOST_CHOICES = 8
LARGEST_NUMBER = 1e18  # larger numbers count as this number: a whole number in JSON may have a thousand digits
OTHERS = "something else"


def pictures(lesson: Lesson, hand_ins: Iterable[HandIn]) -> tuple[list[Picture], list[str]]:
    """The pictures of a lesson's questions, in their order; and the questions with too few answers for a picture."""
    given = [hand_in.predictions for hand_in in hand_ins if hand_in.lesson == lesson.number]
    drawn, too_few = [], []
    for question in lesson.questions:
        answers = [predictions[question.key] for predictions in given if question.key in predictions]
        shown = _numbers(question, answers) if question.kind in ("number", "numbers") else _votes(question, answers)
        if shown:
            drawn.append(shown)
        elif answers:
            too_few.append(f"“{plain(question.text)}” ({len(answers)})")
    return drawn, too_few


def _numbers(question: Question, answers: Iterable[Any]) -> Picture | None:
    by_name: dict[str, list[float]] = {}
    for answer in answers:
        for name, number in answer.items() if isinstance(answer, dict) else [("", answer)]:
            if _is_number(number) and isinstance(answer, dict) == (question.kind == "numbers"):
                by_name.setdefault(name, []).append(float(min(number, LARGEST_NUMBER)))
    names = question.names or (sorted(by_name) if question.kind == "numbers" else [""])
    enough = {name: by_name[name] for name in names if len(by_name.get(name, ())) >= MIN_ANSWERS}
    measured = question.measured if isinstance(question.measured, Mapping) else {"": question.measured}
    measured = {name: number for name, number in measured.items() if _is_number(number)}
    return spread(enough, question.unit, measured, _caption(question)) if enough else None


def _votes(question: Question, answers: Iterable[Any]) -> Picture | None:
    """Each whole order counts as an answer. Answers that the lesson doesn't offer are counted, but not shown."""
    names, measured = set(question.names), _chosen(question, question.measured)
    counts = Counter(filter(None, (_chosen(question, answer) for answer in answers)))
    if counts.total() < MIN_ANSWERS:
        return None
    if question.kind in ("choice", "quiz") and names:
        shown = {name: counts[name] for name in question.names}
    else:
        shown = {name: count for name, count in counts.most_common(MOST_CHOICES) if names or count >= MIN_ANSWERS}
    if measured:
        shown.setdefault(measured, counts[measured])
    if others := counts.total() - sum(shown.values()):
        shown[OTHERS] = others
    words = ("answered", "right") if question.kind == "quiz" else ("predicted", "measured")
    return votes(shown, measured, _caption(question), words)


def _chosen(question: Question, answer: Any) -> str | None:
    """The answer as text; None if it isn't an answer. To a quiz it's the first of the letters that were clicked."""
    if question.kind == "quiz":
        given = isinstance(answer, str) and answer[:1]
        return next((name for name in question.names if name[1] == given), None)
    if question.kind == "choice":
        return answer if isinstance(answer, str) else None
    fits = isinstance(answer, list) and all(isinstance(name, str) for name in answer)
    fits = fits and (not question.names or sorted(answer) == sorted(question.names))
    return ", ".join(answer) if fits else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _caption(question: Question) -> str:
    return f"{plain(question.text)} ({question.key})"
