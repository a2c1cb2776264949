"""What `make grade` says in the end: how many, what needs the teacher, and where the results are."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..teach.words import plain, short
from .course import Course
from .grades import Grade, strays
from .grades import grades as joined
from .pages import text
from .plain import number, one_line
from .store import Store, Student

OUTCOMES = ("right", "half right", "not yet", "not attempted", "not graded")


def summary(records: Store, course: Course, written: Sequence[Path]) -> str:
    """Text for a terminal. `written`: the files for the teacher; the first lies in the folder that holds them all."""
    grades, folder = joined(records, course), written[0].parent
    counts = Counter(grade.standing for grade in grades if grade.exercise)
    needs: dict[str, dict[str, dict[str, None]]] = {}
    for need, line, of in _needs(grades, records, course):
        needs.setdefault(need, {}).setdefault(one_line(line), {})[of] = None
    return text(
        "graded.txt.j2",
        students=len({grade.student for grade in grades}),
        answers=sum(counts[outcome] for outcome in OUTCOMES),
        counts=[f"{counts[outcome]} {outcome}" for outcome in OUTCOMES if counts[outcome]],
        needs=needs,
        folder=folder,
        files=dict.fromkeys(path.relative_to(folder).parts[0] for path in written),
    ).rstrip()


def _needs(grades: Sequence[Grade], records: Store, course: Course) -> Iterator[tuple[str, str, str]]:
    """What needs the teacher: the need's name in the template, a line, and the exercise or the lesson it's about."""
    names: dict[str, set[Student]] = {}
    for grade in grades:
        who = _who(grade.student)
        names.setdefault(one_line(grade.student.name).casefold(), set()).add(grade.student)
        if grade.outcome == "missing" and not grade.by_teacher:
            yield "missing", who, grade.lesson
        if not grade.is_settled:
            yield "ungraded", f"{who}, {grade.hand_in.file}: {short(plain(grade.row.because), 300)}", grade.exercise
        if grade.points > grade.most:
            yield "bonus", f"{who}, {number(grade.points)} of {number(grade.most)}", grade.exercise
        if grade.late:
            yield "late", f"{who}, {grade.hand_in.file}", grade.lesson
    students = {grade.student.key: grade.student for grade in grades}
    for hand_in in records.hand_ins():
        if hand_in.others:
            line = f"{_who(students[hand_in.student])}: {hand_in.file} counts, not {', '.join(hand_in.others)}"
            yield "several", line, hand_in.lesson
    for twins in names.values():
        if len(twins) > 1:
            yield "twins", ", ".join(sorted(map(_who, twins))), ""
    yield from (("strays", line, "") for line in strays(records, course))


def _who(student: Student) -> str:
    """The student's name, and the key if that's another."""
    name = short(one_line(student.name), 60)
    return name if name == student.key else f"{name} ({student.key})"
