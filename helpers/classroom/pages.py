"""Pages and texts from templates that escape everything, and the page of feedback for each
student.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from itertools import groupby

from ..edition import edition
from ..folders import ROOT
from ..teach import exercises, words
from ..teach.exercises import NOT_CARRIED
from ..teach.words import one_line
from ..wall.pages import environment
from ..wall.questions import lesson
from .course import TEMPLATES, Course
from .grades import moment
from .reading import UNREADABLE
from .store import Answer

# not imported: loading nbconvert takes seconds
HANDOUTS = ROOT / "helpers" / "publish" / "template"


def number(value: float) -> str:
    """Points: "10", "7.5"."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


_ENVIRONMENT = environment(TEMPLATES)
_ENVIRONMENT.filters |= {"number": number, "one_line": one_line, "units_kept": words.units_kept}


@cache
def exercise(key: str) -> exercises.Exercise | None:
    """None if this edition no longer has the exercise."""
    with suppress(ValueError):
        return exercises.exercise(key)


def exercise_title(key: str) -> str:
    task = exercise(key)
    return task.title if task else key


def page(template: str, heading: str, course: Course, **values: object) -> str:
    """A whole page. Only what a template marks `safe` is HTML, and what comes from `line` and
    `paragraphs`.
    """
    sheets = [
        path.read_text(encoding="utf-8")
        for path in (HANDOUTS / "style.css", TEMPLATES / "classroom.css")
    ]
    return _ENVIRONMENT.get_template(template).render(
        style="\n".join(sheets),
        heading=heading,
        course=course,
        edition=edition(),
        **values,
    )


def text(template: str, **values: object) -> str:
    """Text for a terminal."""
    return _ENVIRONMENT.overlay(autoescape=False).get_template(template).render(**values)


def feedback(grades: Sequence[Answer], course: Course) -> str:
    name = one_line(grades[0].student.name)
    lessons = [
        (lesson(key), list(answers)) for key, answers in groupby(grades, lambda grade: grade.lesson)
    ]
    return page(
        "feedback.html.j2",
        f"Feedback for {name}",
        course,
        name=name,
        grades=grades,
        lessons=lessons,
    )


def _next_step(grade: Answer) -> str:
    """What the student can do now, Markdown; "" if the answer is right, or the teacher has given
    the points.
    """
    task = exercise(grade.exercise)
    pack = f"`make hand-in LESSON={grade.lesson or '…'}`"
    if grade.outcome == "missing" or grade.hand_in.why_not or grade.verdict.cause == UNREADABLE:
        return (
            f"Save your notebook, pack it with {pack}, and ask your teacher whether you may still "
            "hand it in."
        )
    if grade.outcome == "right" or grade.by_teacher or task is None:
        return ""
    if grade.outcome == "not attempted":
        return (
            f'`exercise("{task.key}")` shows what it asks. It takes about {task.minutes} minutes.'
        )
    if grade.outcome == "not graded" and grade.verdict.cause != NOT_CARRIED:
        return "Nothing: your teacher grades it again, or decides."
    hints = [hint.text for hint in task.hints if grade.verdict.cause in hint.causes]
    hints = hints or [f'`exercise("{task.key}").hint()` in your notebook gives you a hint.']
    return "\n\n".join(
        (*hints, f"When the check in your notebook says that it is right, {pack} packs it again.")
    )


_ENVIRONMENT.globals |= {
    "badge": words.badge,
    "title": exercise_title,
    "when": moment,
    "next_step": _next_step,
}
