"""A page for each student: what the checks found in each answer, what the teacher says, and what to try next."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby

from ..teach import Exercise
from ..teach.words import badge
from .course import Course
from .grades import Grade, moment
from .lessons import exercise, exercise_title, lesson
from .pages import line, page, paragraphs
from .plain import number, one_line

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
    lessons = [_lesson(list(answers), course) for _, answers in groupby(grades, lambda grade: grade.lesson)]
    return page(
        "feedback.html.j2",
        f"Feedback for {name}",
        course,
        name=name,
        lessons=lessons,
        points=number(sum(grade.points for grade in grades)),
        most=number(sum(grade.most for grade in grades)),
    )


def _lesson(grades: Sequence[Grade], course: Course) -> dict[str, object]:
    first = grades[0]
    due, came = course.due.get(first.lesson), moment(first.when)
    return {
        "title": lesson(first.lesson).title,
        "missing": first.outcome == "missing",
        "late": first.late,
        "due": _moment(due) if due else "",
        "when": _moment(came) if came else "",
        "edition": one_line(first.edition),
        "points": number(sum(grade.points for grade in grades)),
        "most": number(most) if (most := sum(grade.most for grade in grades)) else "",
        "answers": list(_answers(grades)),
    }


def _answers(grades: Sequence[Grade]) -> Iterator[dict[str, object]]:
    for grade in grades:
        if grade.outcome == "missing" and not (grade.by_teacher or grade.comment):
            continue
        yield {
            "exercise": grade.exercise,
            "title": exercise_title(grade.exercise),
            "outcome": grade.outcome,
            "lead": badge(grade.outcome, LEADS[grade.outcome]),
            "because": line(grade.because),
            "figures": " · ".join(map(one_line, grade.figures)),
            "points": number(grade.points) if grade.is_settled else "",
            "most": number(grade.most) if grade.exercise else "",
            "by_teacher": grade.by_teacher,
            "comment": paragraphs(grade.comment),
            "hint": paragraphs(_next(grade, exercise(grade.exercise))),
        }


def _next(grade: Grade, exercise: Exercise | None) -> str:
    """What to try: the first hint or, for a student who hasn't begun, how to begin."""
    if exercise is None or grade.outcome not in ("not yet", "not attempted"):
        return ""
    if grade.outcome == "not yet":
        return exercise.hints[0]
    return f'`exercise("{exercise.key}")` shows what it asks. It takes about {exercise.minutes} minutes.'


def _moment(when: datetime) -> str:
    return f"{when.day} {when:%B %Y, %H:%M}"
