"""One Grade for each answer: joins what was handed in, the check's verdict, and the teacher's
points and comments.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from ..teach.exercise_files import keys
from .course import Course
from .store import HandIn, Outcome, Row, Store, Student


@dataclass(frozen=True)
class Grade:
    student: Student  # with the name to show
    exercise: str  # "02.chunks"; "" for a hand-in without exercises
    hand_in: HandIn  # if there is none, its `file` is ""
    # if there is no verdict on this very notebook, its `outcome` is "missing" or "not graded"
    row: Row
    points: float  # out of `most`; the teacher's, if `by_teacher`
    most: float
    comment: str = ""
    by_teacher: bool = False
    late: Literal["", "late", "unknown"] = ""  # see `_late`

    @property
    def lesson(self) -> str:
        return self.hand_in.lesson

    @property
    def outcome(self) -> Outcome:
        return self.row.outcome

    @property
    def is_settled(self) -> bool:
        """True if the points count; False if the answer could not be graded and the teacher hasn't
        given any points.
        """
        return self.by_teacher or self.outcome != "not graded"

    @property
    def standing(self) -> str:
        """The outcome, or "half right"; what the teacher's points make of an answer that could not
        be graded.
        """
        if self.outcome == "not graded" and self.by_teacher:
            return (
                "right" if self.points >= self.most else "half right" if self.points else "not yet"
            )
        return "half right" if self.row.half else self.outcome


def grades(records: Store, course: Course) -> list[Grade]:
    """Every student, known or expected, x every exercise of the lessons that anybody has handed in
    or the course names, except those that are worth nothing; by name, then by exercise. A hand-in
    without exercises gets a Grade, too.
    """
    hand_ins = {(hand_in.student, hand_in.lesson): hand_in for hand_in in records.all(HandIn)}
    rows = {(row.student, row.exercise): row for row in records.all(Row)}
    lessons = (
        {lesson for _, lesson in hand_ins}
        | set(course.due)
        | {key.partition(".")[0] for key in course.points}
    )
    # of each lesson: those of this edition, in order, then any of an older edition that were graded
    exercises = {}
    for lesson in sorted(lessons):
        current = [key for key in keys() if key.startswith(f"{lesson}.")]
        older = {row.exercise for row in rows.values() if row.lesson == lesson} - set(current)
        exercises[lesson] = [*current, *sorted(older)]
    joined = []
    for student in _students(records, course):
        for lesson, names in exercises.items():
            hand_in = hand_ins.get((student.key, lesson), HandIn(student.key, lesson, ""))
            for exercise in names or ([""] if hand_in.file else []):
                if course.worth(exercise) or course.override(student.key, exercise)[0] is not None:
                    joined.append(
                        _grade(
                            student, exercise, hand_in, rows.get((student.key, exercise)), course
                        )
                    )
    return joined


def moment(when: str) -> datetime | None:
    """ISO 8601 as a moment, in this machine's zone if it names none; None if it isn't ISO 8601."""
    with suppress(ValueError, OverflowError):
        time = datetime.fromisoformat(when)
        return time if time.tzinfo else time.astimezone()


def _students(records: Store, course: Course) -> list[Student]:
    """The students in the store, those that the course expects, and any others who handed something
    in; by name.
    """
    students = {student.key: student for student in records.all(Student)}
    for key in (hand_in.student for hand_in in records.all(HandIn)):
        students.setdefault(key, Student(key, ""))
    students |= course.students
    named = [replace(one, name=one.name or key) for key, one in students.items()]
    return sorted(named, key=lambda student: (student.name.casefold(), student.key))


def _grade(
    student: Student, exercise: str, hand_in: HandIn, row: Row | None, course: Course
) -> Grade:
    if not hand_in.file:
        row = Row(student.key, exercise, "missing")
    elif hand_in.why_not or not exercise:
        row = Row(
            student.key, exercise, "not graded", hand_in.why_not or "this lesson has no exercises."
        )
    elif row is None or row.digest != hand_in.digest:
        row = Row(
            student.key,
            exercise,
            "not graded",
            "this has not been graded yet. `make grade` does it.",
        )
    most = course.worth(exercise) if exercise else 0.0
    points, comment = course.override(student.key, exercise)
    by_teacher = points is not None
    points = points if by_teacher else most * row.share
    late = _late(hand_in, course.due.get(hand_in.lesson))
    return Grade(student, exercise, hand_in, row, points, most, comment, by_teacher, late)


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
