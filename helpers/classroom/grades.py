"""One Grade for each answer: joins what was handed in, the check's verdict, and the teacher's points and comments."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from ..teach.exercise_files import keys
from .course import Course
from .store import HandIn, Outcome, Row, Store, Student

NOT_YET_GRADED = "this has not been graded yet. `make grade` does it."
NO_EXERCISES = "this lesson has no exercises."


@dataclass(frozen=True)
class Grade:
    """One answer. `student.name` is the name to show.

    lesson    "02"; "" if the hand-in doesn't say which lesson it is for
    exercise  "02.chunks"; "" for a hand-in without exercises
    points    out of `most`; the teacher's, if `by_teacher`
    because   the check's reason, or why it could not be graded, in Markdown
    comment   the teacher's
    late      True if it came after the due date, or if the system that collected it says so
    file, when, edition          see store.HandIn
    cause, figures, seconds, trusted, half, cell, code  see store.Row
    """

    student: Student
    lesson: str
    exercise: str
    outcome: Outcome
    points: float = 0.0
    most: float = 0.0
    because: str = ""
    comment: str = ""
    by_teacher: bool = False
    late: bool = False
    file: str = ""
    when: str = ""
    edition: str = ""
    cause: str = ""
    figures: tuple[str, ...] = ()
    seconds: float = 0.0
    trusted: bool = False
    half: str = ""
    cell: int = 0
    code: str = ""

    @property
    def is_settled(self) -> bool:
        """True if the points count; False if the answer could not be graded and the teacher hasn't given any points."""
        return self.by_teacher or self.outcome != "not graded"

    @property
    def standing(self) -> str:
        """The outcome, or "half right"; what the teacher's points make of an answer that could not be graded."""
        if self.outcome == "not graded" and self.by_teacher:
            return "right" if self.points >= self.most else "half right" if self.points else "not yet"
        return "half right" if self.half else self.outcome


def grades(known: Store, course: Course) -> list[Grade]:
    """Every student, known or expected, x every exercise of the lessons that anybody has handed in or the course names.

    Sorted by name, then by exercise; without exercises that are worth nothing. A hand-in of a lesson without exercises
    gets a Grade too, so that none is lost.
    """
    hand_ins, rows = known.hand_ins(), known.rows()
    given = {(hand_in.student, hand_in.lesson): hand_in for hand_in in hand_ins}
    verdicts = {(row.student, row.exercise): row for row in rows}
    lessons = {lesson for _, lesson in given} | set(course.due) | {key.partition(".")[0] for key in course.points}
    exercises = {lesson: _exercises(lesson, rows) for lesson in sorted(lessons)}
    found = []
    for student in _students(known, course):
        for lesson, names in exercises.items():
            hand_in = given.get((student.key, lesson))
            for name in names:
                if not course.worth(name) and course.override(student.key, name).points is None:
                    continue  # it wasn't assigned
                found.append(_grade(student, name, hand_in, verdicts.get((student.key, name)), course))
            if hand_in and not names:
                found.append(_grade(student, "", hand_in, None, course))
    return found


def strays(known: Store, course: Course) -> list[str]:
    """A line for each override that has no effect, because its student isn't known."""
    students = {student.key for student in _students(known, course)}
    return [
        f"overrides.toml: there is no student {over.student!r}, so the override for {over.exercise} has no effect"
        for over in course.overrides
        if over.student not in students
    ]


def moment(when: str) -> datetime | None:
    """ISO 8601 as a moment, in this machine's zone if it names none; None if it isn't ISO 8601."""
    with suppress(ValueError, OverflowError):
        found = datetime.fromisoformat(when)
        return found if found.tzinfo else found.astimezone()
    return None


def _students(known: Store, course: Course) -> list[Student]:
    """The students in the store, those that the course expects, and any others who handed something in; by name."""
    found = {student.key: student for student in known.students()}
    for key in [*course.students, *(hand_in.student for hand_in in known.hand_ins())]:
        found.setdefault(key, Student(key, ""))
    named = [replace(student, name=course.students.get(key) or student.name or key) for key, student in found.items()]
    return sorted(named, key=lambda student: (student.name.casefold(), student.key))


def _exercises(lesson: str, rows: Iterable[Row]) -> Sequence[str]:
    """The lesson's exercises in this edition, in order, then any from an older edition that were graded."""
    known = [key for key in keys() if key.startswith(f"{lesson}.")]
    return [*known, *sorted({row.exercise for row in rows if row.lesson == lesson} - set(known))]


def _grade(student: Student, exercise: str, hand_in: HandIn | None, row: Row | None, course: Course) -> Grade:
    """The Grade of one answer; `exercise` is "" for a hand-in that has no exercises."""
    outcome, because = _outcome(hand_in, exercise, row)
    lesson = hand_in.lesson if hand_in else exercise.partition(".")[0]
    hand_in = hand_in or HandIn(student.key, lesson, "")
    row = row if row and outcome == row.outcome else Row(student.key, exercise, outcome)
    override = course.override(student.key, exercise)
    most = course.worth(exercise) if exercise else 0.0
    due, came = course.due.get(lesson), moment(hand_in.when)
    return Grade(
        student,
        lesson,
        exercise,
        outcome,
        points=most * row.share if override.points is None else override.points,
        most=most,
        because=because,
        comment=override.comment,
        by_teacher=override.points is not None,
        late=hand_in.late or bool(due and came and came > due),
        file=hand_in.file,
        when=hand_in.when,
        edition=hand_in.edition,
        **{name: getattr(row, name) for name in ("cause", "figures", "seconds", "trusted", "half", "cell", "code")},
    )


def _outcome(hand_in: HandIn | None, exercise: str, row: Row | None) -> tuple[Outcome, str]:
    if hand_in is None:
        return "missing", ""
    if hand_in.why_not or not exercise:
        return "not graded", hand_in.why_not or NO_EXERCISES
    if row is None or row.digest != hand_in.digest:
        return "not graded", NOT_YET_GRADED
    return row.outcome, row.because
