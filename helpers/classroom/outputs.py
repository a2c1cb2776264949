"""Writes everything that a teacher gets from grading into one folder: gradebook.csv, imports, feedback, report.html."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from ..folders import write_whole
from .course import Course
from .gradebook import canvas, gradebook, moodle, moodle_feedback, moodle_place
from .grades import Grade
from .grades import grades as joined
from .pages import feedback
from .plain import file_name
from .report import report
from .store import Store

OURS = ("gradebook.csv", "canvas.csv", "moodle/*.csv", "moodle/*-feedback.zip", "feedback/*.html", "report.html")


def write_all(records: Store, course: Course, folder: Path, *, trusted: bool = False) -> list[Path]:
    """Writes these files from the store and the course into `folder`, and removes those of students who are gone.

    Each file is complete at any moment, old or new, and no old file goes before all new files are there. The same store
    and course give the same bytes. With `trusted`, the report says that there was no sandbox.
    """
    files = dict(_files(joined(records, course), records, course, trusted))
    for name, data in files.items():
        _write(folder / name, data)
    for path in written(folder) - {folder / name for name in files}:
        path.unlink(missing_ok=True)
    return [folder / name for name in files]


def written(folder: Path) -> set[Path]:
    return {path for pattern in OURS for path in folder.glob(pattern)}


def _files(grades: Sequence[Grade], records: Store, course: Course, trusted: bool) -> Iterator[tuple[str, bytes]]:
    yield "gradebook.csv", gradebook(grades)
    for lesson, table in moodle(grades).items():
        yield f"moodle/{lesson}.csv", table.encode()
        yield f"moodle/{lesson}-feedback.zip", moodle_feedback(_moodle_pages(grades, lesson, course), f"{lesson}.html")
    if table := canvas(grades):
        yield "canvas.csv", table.encode()
    for student, answers in groupby(grades, lambda grade: grade.student):
        yield f"feedback/{file_name(student.name, student.key)}.html", feedback(list(answers), course).encode()
    yield "report.html", report(grades, records.hand_ins(), course, trusted=trusted).encode()


def _moodle_pages(grades: Sequence[Grade], lesson: str, course: Course) -> Mapping[str, str]:
    """A lesson's feedback pages, by the name of the hand-in's folder."""
    of_lesson = groupby((grade for grade in grades if grade.lesson == lesson), lambda grade: grade.student)
    hand_ins = [list(answers) for _, answers in of_lesson]
    return {place[0]: feedback(answers, course) for answers in hand_ins if (place := moodle_place(answers[0]))}


def _write(path: Path, data: bytes) -> None:
    """Skips a file that hasn't changed: after a change, most pages are the same, and syncing each of them is slow."""
    if path.is_file() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, data)
