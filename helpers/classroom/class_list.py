"""students.csv: who is in the class, as Moodle or Canvas exports it, or as a plain list of names or
ids.

Moodle    the participants, or the gradebook: First name, Last name, Email address, and ID number if
          the site has it.
Canvas    the gradebook: Student, ID, SIS Login ID, …; then a row for each student, and some that
          are none.
plain     the columns name, id and email, or some of them; or no head, and a name or an id on each
          line.

A column `file` in any of them gives a student files whose names don't say whose they are, with |
between them.
"""

import csv
import io
import re
import unicodedata
from collections.abc import Collection
from pathlib import Path

from ..teach.words import one_line
from .store import Student

LIST = "students.csv"
HEADS = {  # of the columns that say who a student is
    "name": "name",
    "full name": "name",
    "student": "name",
    "first name": "first",
    "last name": "last",
    "surname": "last",
    "id": "id",
    "id number": "id",
    "email address": "email",
    "email": "email",
    "file": "files",
}
NO_SPLIT = "\x1f"  # in a list of one column
NOBODY = ("Points Possible", "Student, Test")  # rows of Canvas's


def class_list(text: str) -> dict[str, Student]:
    """The students by key, which is their id, or else their email address, or else their name.
    ValueError says what can't be right.
    """
    lines = io.StringIO(text.removeprefix("\ufeff"), newline="").readlines() or [""]
    split = max(NO_SPLIT + ",;\t", key=lines[0].count)
    rows = list(csv.reader(lines, delimiter=split))
    heads = [HEADS.get(head.strip().lower(), "") for head in rows[0]]
    if any(heads):
        rows = rows[1:]
    elif split == NO_SPLIT:
        heads = ["name"]
    else:
        columns = "name, id, email, or as Moodle and Canvas name them in English"
        raise ValueError(
            f"its first line is {lines[0][:80]!r}; it must name the columns: {columns}"
        )
    students: dict[str, Student] = {}
    for row in rows:
        cells = {head: one_line(cell, 1_000) for head, cell in zip(heads, row, strict=False)}
        name = cells.get("name") or " ".join(filter(None, map(cells.get, ("first", "last"))))
        key = cells.get("id") or cells.get("email") or name
        files = tuple(filter(None, map(str.strip, cells.get("files", "").split("|"))))
        if key in students:
            raise ValueError(
                f"there are two students {key!r}; give each an id, in a column of that name"
            )
        if key and name not in NOBODY:
            students[key] = Student(key, name or key, cells.get("email", ""), files)
    return students


def listed(folder: Path) -> dict[str, Student]:
    """The class list in this folder; {} if there is none."""
    path = folder / LIST
    try:
        return class_list(path.read_text(encoding="utf-8")) if path.exists() else {}
    except ValueError as error:  # UnicodeDecodeError is one, and names UTF-8
        raise ValueError(f"{path}: {error}") from None


def meant(
    students: Collection[Student], who: str, path: str = "", *, by_name: bool = True
) -> Student | None:
    """The student to whom the list gives the file at this path; or else the student with this id,
    address (or what stands before its @) or name, in any order, case and punctuation:
    "lovelace_ada" is Ada Lovelace. None if that is nobody, or several. Not `by_name` for a log-in,
    which may look like another's name.
    """
    words = _words(who) if by_name else []
    found = [one for one in students if path in one.files] or [
        one
        for one in students
        if (words and words == _words(one.name))
        or who in {one.key, one.email, one.email.partition("@")[0]} - {""}
    ]
    return found[0] if len(found) == 1 else None


def _words(name: str) -> list[str]:
    return sorted(re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", name).casefold()))
