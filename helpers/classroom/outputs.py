"""Writes what a teacher gets from grading into one folder: gradebook.csv, feedback and report.html
for people, and the files that Moodle and Canvas import.
"""

import codecs
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import groupby
from pathlib import Path

from ..folders import write_whole
from ..teach.words import plain
from .course import Course
from .grades import HandIns, hand_ins
from .grades import grades as graded
from .pages import feedback, number
from .platforms import canvas, moodle
from .reading import for_one
from .report import needs, report
from .store import Answer, Store
from .tables import by_hand_in, csv_of, most, points

OURS = (
    "gradebook.csv",
    "totals.csv",
    "canvas.csv",
    "moodle/*.csv",
    "moodle/*-feedback.zip",
    "feedback/*.html",
    "report.html",
)
COLUMNS = (
    "student",
    "name",
    "email",
    "lesson",
    "exercise",
    "outcome",
    "points",
    "most",
    "late",
    "because",
    "comment",
    "seconds",
    "edition",
)


def write_all(records: Store, course: Course, folder: Path, *, trusted: bool = False) -> list[Path]:
    """Writes these files into `folder`, and removes those of students who are gone. Each is
    complete at any moment, and no old file goes before all new ones are there. With `trusted`, the
    report says that there was no sandbox. Students for whom that fails have only their lines in the
    gradebook: nothing of theirs is graded, and why is kept.
    """

    def made(grades: Sequence[Answer], handed_in: HandIns) -> dict[str, bytes]:
        list(needs(grades, handed_in, course))  # `summary` must not fail later
        files = {
            "gradebook.csv": gradebook(grades),
            "totals.csv": totals(grades),
            **moodle.write(grades, course),
            **canvas.write(grades),
        }
        for student, answers in groupby(grades, lambda grade: grade.student):
            files[f"feedback/{file_name(student.name, student.key)}.html"] = feedback(
                list(answers), course
            ).encode()
        page = report(grades, handed_in, course, folder, trusted=trusted)
        return files | {"report.html": page.encode()}

    known = records.all()
    with for_one() as failed:
        files = made(graded(known, course), hand_ins(known))
    if failed:  # for whom? for them it fails without the others, too
        rest = []
        for student, of in groupby(graded(known, course), lambda grade: grade.student):
            answers = list(of)
            own = [one for one in known if one.student.key == student.key]
            with for_one() as reasons:
                made(answers, hand_ins(own))
                rest += answers
            for why in reasons:
                records.keep(*(_not_graded(one, why) for one in own))
        known = records.all()
        files = made(rest, hand_ins(known)) | {"gradebook.csv": gradebook(graded(known, course))}
    for name, data in files.items():
        path = folder / name
        # most are the same, and syncing each of them is slow
        if not path.is_file() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, data)
    for path in written(folder) - {folder / name for name in files}:
        path.unlink(missing_ok=True)
    return [folder / name for name in files]


def _not_graded(answer: Answer, why: str) -> Answer:
    return replace(answer, hand_in=replace(answer.hand_in, why_not=why, predictions={}))


def written(folder: Path) -> set[Path]:
    return {path for pattern in OURS for path in folder.glob(pattern)}


def file_name(name: str, key: str) -> str:
    """For a student's file: up to 40 letters, digits and hyphens, and 8 that tell apart students of
    the same name.
    """
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    short = re.sub(r"[^a-z0-9]+", "-", letters)[:40].strip("-") or "student"
    return f"{short}-{sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def gradebook(grades: Iterable[Answer]) -> bytes:
    """gradebook.csv with all grades, in UTF-8 with a byte order mark: without it, Excel assumes
    another encoding.
    """
    rows = [
        (
            g.student.key,
            g.student.name,
            g.student.email,
            g.lesson,
            g.exercise,
            g.outcome,
            number(g.points) if g.is_settled else "",
            number(g.most),
            g.late,
            plain(g.verdict.because),
            g.comment,
            f"{g.verdict.seconds:.1f}",
            g.hand_in.edition,
        )
        for g in grades
    ]
    return codecs.BOM_UTF8 + csv_of([COLUMNS, *rows])


def totals(grades: Sequence[Answer]) -> bytes:
    """totals.csv, a line for each student, with the points in each lesson. What is "missing" or
    "not graded" adds nothing.
    """
    hand_ins = by_hand_in(grades)
    lessons = dict(sorted({name: most(of) for (_, name), of in hand_ins.items()}.items()))
    heads = [f"{name} (of {possible})" for name, possible in lessons.items()]
    table = [("student", "name", "email", *heads, "points")]
    for student in dict.fromkeys(one.student for one in grades):
        own = [hand_ins.get((student, name), []) for name in lessons]
        sums = [(points(of) or "not graded") if of else "missing" for of in own]
        total = sum(one.points for of in own if points(of) for one in of)
        table.append((student.key, student.name, student.email, *sums, number(total)))
    return codecs.BOM_UTF8 + csv_of(table)
