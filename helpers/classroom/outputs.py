"""Writes what a teacher gets from grading into one folder: gradebook.csv, feedback and report.html
for people, and the files that Moodle and Canvas import.
"""

import codecs
import csv
import io
import re
import unicodedata
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import groupby
from pathlib import Path

from ..folders import write_whole
from ..teach.words import inline, plain
from .course import Course
from .grades import Grade
from .grades import grades as joined
from .lessons import lesson
from .pages import feedback, number, one_line
from .reading import for_one
from .report import needs, report
from .store import HandIn, Store, Student

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
FORMULA = re.compile(r"(^|;)([\s\x22]*)(?=[=+\-@＝＋－＠])")


def write_all(records: Store, course: Course, folder: Path, *, trusted: bool = False) -> list[Path]:
    """Writes these files into `folder`, and removes those of students who are gone. Each is
    complete at any moment, and no old file goes before all new ones are there. With `trusted`, the
    report says that there was no sandbox. Students for whom that fails have only their lines in the
    gradebook: nothing of theirs is graded, and why is kept.
    """

    def made(grades: Sequence[Grade], hand_ins: Sequence[HandIn]) -> dict[str, bytes]:
        list(needs(grades, hand_ins, course))  # `summary` must not fail later
        files = {
            "gradebook.csv": gradebook(grades),
            "totals.csv": totals(grades),
            **moodle(grades, course),
            **canvas(grades),
        }
        for student, answers in groupby(grades, lambda grade: grade.student):
            files[f"feedback/{file_name(student.name, student.key)}.html"] = feedback(
                list(answers), course
            ).encode()
        return files | {
            "report.html": report(grades, hand_ins, course, folder, trusted=trusted).encode()
        }

    grades = joined(records, course)
    hand_ins = records.all(HandIn)
    with for_one() as failed:
        files = made(grades, hand_ins)
    if failed:  # for whom? for them it fails without the others, too
        rest = []
        for student, of in groupby(grades, lambda grade: grade.student):
            answers = list(of)
            own = [hand_in for hand_in in hand_ins if hand_in.student == student.key]
            with for_one() as reasons:
                made(answers, own)
                rest += answers
            records.keep(
                *(
                    replace(hand_in, why_not=why, predictions={})
                    for why in reasons
                    for hand_in in own
                )
            )
        files = made(rest, records.all(HandIn)) | {
            "gradebook.csv": gradebook(joined(records, course))
        }
    for name, data in files.items():
        path = folder / name
        # most are the same, and syncing each of them is slow
        if not path.is_file() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, data)
    for path in written(folder) - {folder / name for name in files}:
        path.unlink(missing_ok=True)
    return [folder / name for name in files]


def written(folder: Path) -> set[Path]:
    return {path for pattern in OURS for path in folder.glob(pattern)}


def file_name(name: str, key: str) -> str:
    """For a student's file: up to 40 letters, digits and hyphens, and 8 that tell apart students of
    the same name.
    """
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    short = re.sub(r"[^a-z0-9]+", "-", letters)[:40].strip("-") or "student"
    return f"{short}-{sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def gradebook(grades: Iterable[Grade]) -> bytes:
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
            plain(g.row.because),
            g.comment,
            f"{g.row.seconds:.1f}",
            g.hand_in.edition,
        )
        for g in grades
    ]
    return codecs.BOM_UTF8 + _csv([COLUMNS, *rows])


def totals(grades: Sequence[Grade]) -> bytes:
    """totals.csv, a line for each student, with the points in each lesson. What is "missing" or
    "not graded" adds nothing.
    """
    sums, most = _points(grades)
    table = [
        (
            "student",
            "name",
            "email",
            *(f"{name} (of {points})" for name, points in most.items()),
            "points",
        )
    ]
    for student in dict.fromkeys(grade.student for grade in grades):
        of = [sums.get((student, name), "missing") or "not graded" for name in most]
        points = sum(float(one) for one in of if one not in ("missing", "not graded"))
        table.append((student.key, student.name, student.email, *of, number(points)))
    return codecs.BOM_UTF8 + _csv(table)


def cell(value: object) -> str:
    """A cell of a CSV file. Puts an apostrophe before whatever a spreadsheet would take for a
    formula, to make it text. OWASP, "CSV Injection"; CWE-1236. After a semicolon too, because Excel
    starts a new cell there in some countries.
    """
    return FORMULA.sub(r"\1\2'", one_line(str(value)))


def moodle(grades: Iterable[Grade], course: Course) -> dict[str, bytes]:
    """For each lesson that came from Moodle, a grading worksheet, and a zip of the students' pages
    for that lesson.

    *Upload grading worksheet* (mod/assign/feedback/offline/importgradeslib.php) needs the columns
    Identifier, Grade and Last modified (grade), named as in an English Moodle, takes Feedback
    comments, which is HTML, and ignores the others. It skips empty grades, grades above the
    assignment's maximum, and students who have a grade, unless "Allow updating records that have
    been modified more recently in Moodle" is ticked. *Upload multiple feedback files in a zip*
    (mod/assign/feedback/file/importziplib.php) finds the participant by the number in a folder's
    name, which belongs to the assignment (table assign_user_mapping): a student who handed in
    nothing has none.
    """
    head = (
        "Identifier",
        "Full name",
        "Email address",
        "Grade",
        "Maximum grade",
        "Last modified (grade)",
        "Feedback comments",
    )
    tables = defaultdict(lambda: [head])
    pages = defaultdict(dict)
    files = {}
    for name, hand_in in _by_hand_in(grades):
        student = hand_in[0].student
        of = hand_in[0].hand_in
        if of.system == "moodle" and of.number:
            points, most = _sums(hand_in)
            row = (
                f"Participant {of.number}",
                student.name,
                student.email,
                points,
                most,
                "",
                _comments(hand_in),
            )
            tables[name].append(row)
            pages[name][one_line(of.place)] = feedback(hand_in, course)
    for name, rows in tables.items():
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for folder, page in sorted(pages[name].items()):
                archive.writestr(
                    zipfile.ZipInfo(f"{folder}/{name}.html"), page, zipfile.ZIP_DEFLATED
                )
        files |= {
            f"moodle/{name}.csv": _csv(rows),
            f"moodle/{name}-feedback.zip": buffer.getvalue(),
        }
    return files


def _comments(hand_in: Sequence[Grade]) -> str:
    """One line of HTML, in which the output of a student's code is escaped."""
    comments = []
    for grade in hand_in:
        of = f", {number(grade.points)} of {number(grade.most)} points" if grade.is_settled else ""
        because = grade.row.because
        stop = "." if grade.comment and because[-1:] not in ("", *".?!…”") else ""
        words = f"{because}{stop} {grade.comment}".strip()
        comments.append(
            f"<p><strong>{grade.exercise}</strong>, {grade.outcome}{of}: "
            f"{inline(one_line(words))}</p>"
        )
    # so that "&lt;=" gets no apostrophe from `cell`
    return re.sub(r"(?<=;)([=+\-@])", lambda match: f"&#{ord(match[0])};", "".join(comments))


def canvas(grades: Sequence[Grade]) -> dict[str, bytes]:
    """The gradebook for Canvas's *Import*, an assignment for each lesson; {} if nobody came from
    Canvas. lib/gradebook_importer.rb wants Student, ID and Section, and finds a student by ID. It
    takes the other columns for assignments (an unknown title becomes a new assignment, or is
    matched by hand), and their points from a row "Points Possible". An empty cell means no grade:
    the student handed nothing in, or the work could not be graded yet. An anonymous student has no
    number, only "anon_x1Yz2".
    """
    came = {
        grade.student: grade.hand_in.number for grade in grades if grade.hand_in.system == "canvas"
    }
    students = {student: its for student, its in came.items() if its.isdecimal()}
    if not students:
        return {}
    sums, most = _points(grade for grade in grades if grade.student in students)
    rows = [
        (
            "Student",
            "ID",
            "SIS User ID",
            "SIS Login ID",
            "Section",
            *(lesson(name).title for name in most),
        ),
        ("    Points Possible", "", "", "", "", *most.values()),
    ]
    for student, its in students.items():
        # Canvas would take it for the row above
        named = student.name.replace("Points Possible", "Points-Possible")
        rows.append((named, its, "", "", "", *(sums.get((student, name), "") for name in most)))
    return {"canvas.csv": _csv(rows)}


def _by_hand_in(grades: Iterable[Grade]) -> list[tuple[str, list[Grade]]]:
    """The lesson and the grades of each hand-in with exercises, and of a missing one if the teacher
    gave it points.
    """
    # which are sorted by student and lesson
    exercises = [grade for grade in grades if grade.exercise]
    hand_ins = [
        list(of) for _, of in groupby(exercises, lambda grade: (grade.student, grade.lesson))
    ]
    return [
        (of[0].lesson, of)
        for of in hand_ins
        if any(one.outcome != "missing" or one.by_teacher for one in of)
    ]


def _points(grades: Iterable[Grade]) -> tuple[dict[tuple[Student, str], str], dict[str, str]]:
    """The points by student and lesson, "" while an answer isn't settled; and the most in each
    lesson, in order.
    """
    sums = {(hand_in[0].student, name): _sums(hand_in) for name, hand_in in _by_hand_in(grades)}
    most = {name: possible for (_, name), (_, possible) in sums.items()}
    return {of: points for of, (points, _) in sums.items()}, dict(sorted(most.items()))


def _sums(hand_in: Sequence[Grade]) -> tuple[str, str]:
    """The points, "" while an answer isn't settled; and the most that a student can get."""
    points = sum(grade.points for grade in hand_in)
    settled = all(grade.is_settled for grade in hand_in)
    return number(points) if settled else "", number(sum(grade.most for grade in hand_in))


def _csv(rows: Iterable[Sequence[object]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows([cell(value) for value in row] for row in rows)
    return text.getvalue().encode()
