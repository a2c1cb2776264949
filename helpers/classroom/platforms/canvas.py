"""Canvas's download of all submissions: `lovelaceada_LATE_12345_67890_02_copy_a_big_file-1.ipynb`:
name, late or not, user, file, the file's own name; `anon_x1Yz2_67890_…` if anonymous;
`lovelaceada_12345_text.html` for no file (lib/content_zipper.rb). "-1" is a later file of that name
(Attachment.make_unique_filename). It has no hand-in times.
"""

import re
from collections.abc import Collection, Sequence

from ...wall.questions import lesson
from ..store import Answer
from ..tables import by_hand_in, csv_of, most, points
from . import Owner

FORM = re.compile(
    r"(?P<place>(?:(?=(?:LATE_)?anon_)|(?P<name>[^/]*?)_)(?P<late>LATE_)?"
    r"(?P<number>[0-9]+|anon_[0-9A-Za-z]+)"
    r"(?:_[0-9]+(?=_.)|(?=_(?:text|link)\.html\Z)))_(?P<file>[^/]+)",
    re.S,
)
HANDED_IN = re.compile(r"(?is).*(\.ipynb(\.txt|\.json)?|\.zip)")
HEAD = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")


def read(names: Collection[str]) -> dict[str, Owner]:
    """None if no notebook or zip has such a name: other files may have it by chance."""
    found = {name: match for name in names if (match := FORM.fullmatch(name))}
    if not any(map(HANDED_IN.fullmatch, found)):
        return {}
    return {
        name: Owner(
            "canvas", of["name"] or "", of["place"], of["number"], bool(of["late"]), of["file"]
        )
        for name, of in found.items()
    }


def write(answers: Sequence[Answer]) -> dict[str, bytes]:
    """The gradebook for Canvas's *Import*, an assignment for each lesson; {} if nobody came from
    Canvas. lib/gradebook_importer.rb wants Student, ID and Section, and finds a student by ID. It
    takes the other columns for assignments (an unknown title becomes a new assignment, or is
    matched by hand), and their points from a row "Points Possible". An empty cell means no grade:
    the student handed nothing in, or the work could not be graded yet. An anonymous student has no
    number, only "anon_x1Yz2".
    """
    came = {one.student: one.hand_in.number for one in answers if one.hand_in.system == "canvas"}
    students = {student: number for student, number in came.items() if number.isdecimal()}
    if not students:
        return {}
    hand_ins = by_hand_in(one for one in answers if one.student in students)
    possible = dict(sorted({name: most(of) for (_, name), of in hand_ins.items()}.items()))
    rows = [
        (*HEAD, *(lesson(name).title for name in possible)),
        ("    Points Possible", "", "", "", "", *possible.values()),
    ]
    for student, number in students.items():
        # Canvas would take it for the row above
        shown = student.name.replace("Points Possible", "Points-Possible")
        of = [points(hand_ins.get((student, name), ())) for name in possible]
        rows.append((shown, number, "", "", "", *of))
    return {"canvas.csv": csv_of(rows)}
