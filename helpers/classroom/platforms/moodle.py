"""Moodle's download of all submissions: `First Last_1234567_assignsubmission_file_/…`, or the
file's name in place of "/" (mod/assign/classes/downloader.php). The number is the student's in this
one assignment (table assign_user_mapping). It has no hand-in times.
"""

import io
import re
import zipfile
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from ...teach.words import inline, one_line
from ..course import Course
from ..pages import feedback, number
from ..store import Answer
from ..tables import by_hand_in, csv_of, most, points
from . import Owner

FORM = re.compile(
    r"(?P<place>(?P<name>[^/]*?)(?:_(?P<number>[0-9]+))?_assignsubmission_[a-z]+)_?(?P<file>.*)",
    re.S,
)
HEAD = (
    "Identifier",
    "Full name",
    "Email address",
    "Grade",
    "Maximum grade",
    "Last modified (grade)",
    "Feedback comments",
)


def read(names: Collection[str]) -> dict[str, Owner]:
    owners = {}
    for name in names:
        if found := FORM.fullmatch(name):
            place = name[:-1] if name.endswith("/") else found["place"]
            owners[name] = Owner(
                "moodle", found["name"], place, found["number"] or "", file=found["file"]
            )
    return owners


def write(answers: Iterable[Answer], course: Course) -> dict[str, bytes]:
    """For each lesson that came from Moodle, a grading worksheet, and a zip of the students' pages
    for that lesson.

    *Upload grading worksheet* (mod/assign/feedback/offline/importgradeslib.php) needs the columns
    Identifier, Grade and Last modified (grade), named as in an English Moodle, takes Feedback
    comments, which is HTML, and ignores the others. It skips empty grades, grades above the
    assignment's maximum, and students who have a grade, unless "Allow updating records that have
    been modified more recently in Moodle" is ticked. *Upload multiple feedback files in a zip*
    (mod/assign/feedback/file/importziplib.php) finds the participant by the number in a folder's
    name, which belongs to the assignment: a student who handed in nothing has none.
    """
    tables = defaultdict(lambda: [HEAD])
    pages = defaultdict(dict)
    files = {}
    for (student, lesson), of in by_hand_in(answers).items():
        came = of[0].hand_in
        if came.system == "moodle" and came.number:
            who = f"Participant {came.number}", student.name, student.email
            tables[lesson].append((*who, points(of), most(of), "", _comments(of)))
            pages[lesson][one_line(came.place)] = feedback(of, course)
    for lesson, rows in tables.items():
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for folder, page in sorted(pages[lesson].items()):
                at = zipfile.ZipInfo(f"{folder}/{lesson}.html")
                archive.writestr(at, page, zipfile.ZIP_DEFLATED)
        files[f"moodle/{lesson}.csv"] = csv_of(rows)
        files[f"moodle/{lesson}-feedback.zip"] = buffer.getvalue()
    return files


def _comments(answers: Sequence[Answer]) -> str:
    """One line of HTML, in which the output of a student's code is escaped."""
    comments = []
    for one in answers:
        of = f", {number(one.points)} of {number(one.most)} points" if one.is_settled else ""
        because = one.verdict.because
        stop = "." if one.comment and because[-1:] not in ("", *".?!…”") else ""
        words = inline(one_line(f"{because}{stop} {one.comment}"))
        comments.append(f"<p><strong>{one.exercise}</strong>, {one.outcome}{of}: {words}</p>")
    # so that "&lt;=" gets no apostrophe from `cell`
    return re.sub(r"(?<=;)([=+\-@])", lambda match: f"&#{ord(match[0])};", "".join(comments))
