"""The class report: how many answers are right, what goes wrong, the predictions, and how it was graded; no names."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from statistics import median

from ..units import in_words
from .charts import MIN_ANSWERS, outcomes, pictures
from .course import Course
from .grades import Grade
from .lessons import exercise_title, lesson
from .mistakes import mistakes, reasons
from .pages import page
from .plain import number
from .store import HandIn

MOST_MISTAKES = 6  # for each exercise
EDITION = re.compile(r"\d{4}-\d\d-\d\d \([0-9a-f]{7}(, with changes)?\)")  # because a notebook may name anything


def report(grades: Sequence[Grade], hand_ins: Sequence[HandIn], course: Course, *, trusted: bool) -> str:
    """The page for the class with these grades and hand-ins; `trusted` if it was graded without a sandbox."""
    names = sorted({grade.lesson for grade in grades if grade.exercise})
    judged = [grade for grade in grades if grade.outcome in ("right", "not yet")]
    seconds = [grade.row.seconds for grade in grades if grade.row.seconds]
    editions = Counter(one.edition if EDITION.fullmatch(one.edition) else "not named" for one in hand_ins)
    return page(
        "report.html.j2",
        "Class report",
        course,
        students=len({grade.student.key for grade in grades}),
        hand_ins=len(hand_ins),
        answers=len(judged),
        lessons=[_lesson(name, [grade for grade in grades if grade.lesson == name], hand_ins) for name in names],
        least=MIN_ANSWERS,
        without_sandbox=len(judged) if trusted else sum(grade.row.trusted for grade in judged),
        took=[_time(figure(seconds)) for figure in (sum, median, max)] if seconds else (),
        given=sum(grade.by_teacher for grade in grades),
        editions=", ".join(f"{name} ({n})" for name, n in editions.most_common()),
        reasons=reasons(grades, hand_ins),
    )


def _lesson(name: str, grades: Sequence[Grade], hand_ins: Sequence[HandIn]) -> dict[str, object]:
    by_student = [list(answers) for _, answers in groupby(grades, lambda grade: grade.student.key)]
    by_exercise: dict[str, list[Grade]] = {}
    for grade in grades:
        by_exercise.setdefault(grade.exercise, []).append(grade)
    handed_in = [answers for answers in by_student if answers[0].outcome != "missing"]
    settled = [answers for answers in handed_in if all(grade.is_settled for grade in answers)]
    counts = {
        f"{exercise_title(key)} ({key})": Counter(grade.standing for grade in answers)
        for key, answers in by_exercise.items()
    }
    drawn, too_few = pictures(lesson(name), hand_ins)
    return {
        "title": lesson(name).title,
        "handed_in": len(handed_in),
        "late": sum(answers[0].late for answers in handed_in),
        "missing": len(by_student) - len(handed_in),
        "not_graded": len(handed_in) - len(settled),
        "median": number(median(sum(grade.points for grade in answers) for answers in settled)) if settled else "–",
        "most": number(sum(answers[0].most for answers in by_exercise.values())),
        "figure": outcomes(counts)._repr_html_(),
        "exercises": [
            (key, exercise_title(key), answers, mistakes(answers)[:MOST_MISTAKES])
            for key, answers in by_exercise.items()
        ],
        "predictions": [picture._repr_html_() for picture in drawn],
        "not_measured": all(asked.measured is None for asked in lesson(name).questions if asked.kind != "quiz"),
        "too_few": ", ".join(too_few),
    }


def _time(seconds: float) -> str:
    return in_words(seconds, "seconds") if seconds < 120 else f"{seconds / 60:.0f} minutes"
