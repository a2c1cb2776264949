"""A page for each student: what the checks found in each answer, what the teacher says, and what to try next."""

from collections.abc import Sequence
from itertools import groupby

from ..teach.words import badge
from .course import Course
from .grades import Grade, moment
from .lessons import exercise, exercise_title, lesson
from .pages import page
from .plain import one_line

LEADS = {
    "right": "Right.",
    "not yet": "Not yet:",
    "not attempted": "Not attempted.",
    "not graded": "Not graded:",
    "missing": "Not handed in.",
}


def feedback(grades: Sequence[Grade], course: Course) -> str:
    """The page for the student with these grades, in the order of the lessons."""
    name = one_line(grades[0].student.name)
    return page(
        "feedback.html.j2",
        f"Feedback for {name}",
        course,
        name=name,
        grades=grades,
        lessons=[(lesson(key), list(answers)) for key, answers in groupby(grades, lambda grade: grade.lesson)],
        leads=LEADS,
        badge=badge,
        title=exercise_title,
        when=moment,
        hint=_hint,
    )


def _hint(grade: Grade) -> str:
    """What to try: the hints that fit the mistake, if any do; or, for a student who hasn't begun, how to begin."""
    asked = exercise(grade.exercise)
    if asked is None or grade.outcome not in ("not yet", "not attempted"):
        return ""
    if grade.outcome == "not yet":
        return "\n\n".join(hint.text for hint in asked.hints if grade.row.cause in hint.causes)
    return f'`exercise("{asked.key}")` shows what it asks. It takes about {asked.minutes} minutes.'
