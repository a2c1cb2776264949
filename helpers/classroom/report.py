"""The class report: how many answers are right, what goes wrong, the predictions, and how it was graded; no names."""

import re
from collections import Counter
from collections.abc import Sequence
from statistics import median

from ..show import outcomes
from ..units import in_words
from . import predictions
from .course import Course
from .grades import Grade
from .lessons import exercise_title, lesson
from .pages import line, page
from .plain import number
from .slips import reasons, slips
from .store import HandIn

MOST_SLIPS = 6  # for each exercise
EDITION = re.compile(r"\d{4}-\d\d-\d\d \([0-9a-f]{7}(, with changes)?\)")  # because a notebook may name anything


def report(grades: Sequence[Grade], hand_ins: Sequence[HandIn], course: Course, *, trusted: bool) -> str:
    """The page for the class with these grades and hand-ins; `trusted` if it was graded without a sandbox."""
    names = sorted({grade.lesson for grade in grades if grade.exercise})
    return page(
        "report.html.j2",
        "Class report",
        course,
        students=len({grade.student.key for grade in grades}),
        hand_ins=len(hand_ins),
        answers=sum(grade.outcome in ("right", "not yet") for grade in grades),
        lessons=[_lesson(name, [grade for grade in grades if grade.lesson == name], hand_ins) for name in names],
        least=predictions.LEAST,
        without_sandbox=_without_sandbox(grades, trusted),
        graded=_how(grades, hand_ins, trusted),
        reasons=[(what, count, line(why)) for what, count, why in reasons(grades, hand_ins)],
    )


def _lesson(name: str, grades: Sequence[Grade], hand_ins: Sequence[HandIn]) -> dict[str, object]:
    by_student: dict[str, list[Grade]] = {}
    by_exercise: dict[str, list[Grade]] = {}
    for grade in grades:
        by_student.setdefault(grade.student.key, []).append(grade)
        by_exercise.setdefault(grade.exercise, []).append(grade)
    given = [answers for answers in by_student.values() if answers[0].outcome != "missing"]
    settled = [answers for answers in given if all(grade.is_settled for grade in answers)]
    counts = {
        f"{exercise_title(key)} ({key})": Counter(grade.outcome for grade in answers)
        for key, answers in by_exercise.items()
    }
    drawn, too_few = predictions.pictures(lesson(name), hand_ins)
    return {
        "title": lesson(name).title,
        "handed_in": len(given),
        "late": sum(answers[0].late for answers in given),
        "missing": len(by_student) - len(given),
        "not_graded": len(given) - len(settled),
        "median": number(median(sum(grade.points for grade in answers) for answers in settled)) if settled else "–",
        "most": number(sum(answers[0].most for answers in by_exercise.values())),
        "figure": outcomes(counts)._repr_html_(),
        "exercises": [_exercise(key, answers) for key, answers in by_exercise.items()],
        "predictions": [picture._repr_html_() for picture in drawn],
        "not_measured": all(asked.measured is None for asked in lesson(name).questions if asked.kind != "quiz"),
        "too_few": ", ".join(too_few),
    }


def _exercise(key: str, grades: Sequence[Grade]) -> dict[str, object]:
    not_yet = sum(grade.outcome == "not yet" for grade in grades)
    shown = [
        {
            "words": slip.words,
            "count": slip.count,
            "share": f"{100 * slip.count / not_yet:.0f} %",
            "example": line(slip.example),
        }
        for slip in slips(grades)[:MOST_SLIPS]
    ]
    return {"key": key, "title": exercise_title(key), "not_yet": not_yet, "slips": shown}


def _without_sandbox(grades: Sequence[Grade], trusted: bool) -> str:
    """A sentence that says how many answers were judged without a sandbox; "" if none were."""
    judged = [grade for grade in grades if grade.outcome in ("right", "not yet")]
    some = len(judged) if trusted else sum(grade.trusted for grade in judged)
    if not some:
        return ""
    if some == len(judged):
        return "Graded without a sandbox."
    return f"{some} {'answers were' if some != 1 else 'answer was'} graded without a sandbox."


def _how(grades: Sequence[Grade], hand_ins: Sequence[HandIn], trusted: bool) -> list[str]:
    """Sentences on how the work was graded."""
    seconds = [grade.seconds for grade in grades if grade.seconds]
    given = sum(grade.by_teacher for grade in grades)
    named = (hand_in.edition for hand_in in hand_ins)
    editions = Counter(edition if EDITION.fullmatch(edition) else "not named" for edition in named)
    lines = []
    if seconds:
        together, typical, longest = map(_time, (sum(seconds), median(seconds), max(seconds)))
        lines.append(f"The checks took {together} in all: {typical} for the median answer, {longest} for the slowest.")
        if not _without_sandbox(grades, trusted):
            lines.append("Each answer ran in its own sandbox.")
    if given:
        lines.append(f"The teacher gave the points for {given} answer{'s' if given != 1 else ''}.")
    if editions:
        lines.append(f"Editions of the hand-ins: {', '.join(f'{name} ({n})' for name, n in editions.most_common())}.")
    return lines


def _time(seconds: float) -> str:
    return in_words(seconds, "seconds") if seconds < 120 else f"{seconds / 60:.0f} minutes"
