"""Pages and texts from templates that escape everything, and the page of feedback for each
student.
"""

import re
from collections.abc import Sequence
from itertools import groupby

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..edition import edition
from ..folders import ROOT
from ..teach import words
from ..teach.exercises import NOT_CARRIED
from .course import TEMPLATES, Course
from .grades import Grade, moment
from .lessons import exercise, exercise_title, lesson
from .reading import UNREADABLE, one_line

# not imported: loading nbconvert takes seconds
HANDOUTS = ROOT / "helpers" / "publish" / "template"


def number(value: float) -> str:
    """Points: "10", "7.5"."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def units_kept(text: str) -> str:
    """The text with no line break between a number and its unit: "282 MiB"."""
    return re.sub(
        r"(?<=[0-9]) (?=(?:[KMGT]iB|B|bytes|s|ms|%)(?![\w/]))", "\N{NO-BREAK SPACE}", text
    )


_ENVIRONMENT = Environment(
    loader=FileSystemLoader(TEMPLATES),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
# HTML from a line of our Markdown, in which the output of a student's code is escaped; and from
# several lines of it.
_ENVIRONMENT.filters |= {
    "line": lambda text: words.inline(units_kept(one_line(text))),
    "paragraphs": words.paragraphs,
}
_ENVIRONMENT.filters |= {"number": number, "one_line": one_line, "units_kept": units_kept}


def page(template: str, heading: str, course: Course, **values: object) -> str:
    """A whole page. Only what a template marks `safe` is HTML, and what comes from `line` and
    `paragraphs`.
    """
    sheets = [
        path.read_text(encoding="utf-8")
        for path in (HANDOUTS / "style.css", TEMPLATES / "classroom.css")
    ]
    return filled(
        template,
        style="\n".join(sheets),
        heading=heading,
        course=course,
        edition=edition(),
        **values,
    )


def filled(template: str, **values: object) -> str:
    """A template with these values."""
    return _ENVIRONMENT.get_template(template).render(**values)


def text(template: str, **values: object) -> str:
    """Text for a terminal."""
    return _ENVIRONMENT.overlay(autoescape=False).get_template(template).render(**values)


def feedback(grades: Sequence[Grade], course: Course) -> str:
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


def _next_step(grade: Grade) -> str:
    """What the student can do now, Markdown; "" if the answer is right, or the teacher has given
    the points.
    """
    task = exercise(grade.exercise)
    pack = f"`make hand-in LESSON={grade.lesson or '…'}`"
    if grade.outcome == "missing" or grade.hand_in.why_not or grade.row.cause == UNREADABLE:
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
    if grade.outcome == "not graded" and grade.row.cause != NOT_CARRIED:
        return "Nothing: your teacher grades it again, or decides."
    hints = [hint.text for hint in task.hints if grade.row.cause in hint.causes]
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
