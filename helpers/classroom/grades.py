"""Adds the teacher's points and comments to what was handed in and judged."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Literal

from ..teach.exercise_files import keys
from .course import Course
from .store import Answer, HandIn, Verdict

HandIns = dict[tuple[str, str], HandIn]  # by the student's key and the lesson


def grades(answers: Iterable[Answer], course: Course) -> list[Answer]:
    """Every student, known or expected, x every exercise of the lessons that anybody has handed in
    or the course names, except those that are worth nothing; by name, then by exercise. A hand-in
    without exercises is in it, too.
    """
    known = {(one.student.key, one.lesson, one.exercise): one for one in answers}
    handed_in = hand_ins(known.values())
    students = {one.student.key: one.student for one in known.values()} | course.students
    lessons = {lesson for _, lesson in handed_in} | {*course.due}
    lessons |= {key.partition(".")[0] for key in course.points}
    # of each lesson: those of this edition, in order, then any of an older edition that were graded
    exercises = {lesson: of_lesson(lesson) for lesson in sorted(lessons)}
    for (_, lesson, exercise), answer in sorted(known.items(), key=lambda one: one[0][1:]):
        if answer.verdict.digest and exercise not in exercises[lesson]:
            exercises[lesson].append(exercise)
    graded = []
    for student in students.values():
        student = replace(student, name=student.name or student.key)
        for lesson, names in exercises.items():
            hand_in = handed_in.get((student.key, lesson), HandIn(lesson))
            for name in names or [""] * bool(hand_in.file):
                answer = known.get((student.key, lesson, name), Answer(student, name, hand_in))
                points, comment = course.override(student.key, name)
                if course.worth(name) or points is not None:
                    answer = replace(answer, student=student, comment=comment)
                    graded.append(_graded(answer, points, course))
    return sorted(graded, key=lambda one: (one.student.name.casefold(), one.student.key))


def hand_ins(answers: Iterable[Answer]) -> HandIns:
    return {(one.student.key, one.lesson): one.hand_in for one in answers}


def of_lesson(lesson: str) -> list[str]:
    """The exercises of a lesson, in order."""
    return [key for key in keys() if key.startswith(f"{lesson}.")]


def moment(when: str) -> datetime | None:
    """ISO 8601 as a moment, in this machine's zone if it names none; None if it isn't ISO 8601."""
    with suppress(ValueError, OverflowError):
        time = datetime.fromisoformat(when)
        return time if time.tzinfo else time.astimezone()


def _graded(answer: Answer, points: float | None, course: Course) -> Answer:
    """`points` are the teacher's; None if there are none."""
    hand_in = answer.hand_in
    verdict = answer.verdict
    if not hand_in.file:
        verdict = Verdict("missing", "")
    elif hand_in.why_not or not answer.exercise:
        verdict = Verdict(because=hand_in.why_not or "this lesson has no exercises.")
    elif verdict.digest != hand_in.digest:
        verdict = Verdict()
    most = course.worth(answer.exercise) if answer.exercise else 0.0
    share = 1.0 if verdict.outcome == "right" else 0.5 if verdict.half else 0.0
    return replace(
        answer,
        verdict=verdict,
        points=most * share if points is None else points,
        most=most,
        by_teacher=points is not None,
        late=_late(hand_in, course.due.get(hand_in.lesson)),
    )


def _late(hand_in: HandIn, due: datetime | None) -> Literal["", "late", "unknown"]:
    """Canvas marks what is late. Otherwise it's what came after the due time, by nbgrader's
    timestamp or by a file's own time. A copy's time may be later than the file's, so it shows only
    what was in time.
    """
    came = moment(hand_in.when)
    if hand_in.late:
        return "late"
    if not due or not hand_in.digest or hand_in.system == "canvas" or (came and came <= due):
        return ""
    return "late" if came and not hand_in.copied else "unknown"
