"""CSV files, and the points in them."""

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from ..teach.words import one_line
from .pages import number
from .store import Answer, Student

FORMULA = re.compile(r"(^|;)([\s\x22]*)(?=[=+\-@＝＋－＠])")


def cell(value: object) -> str:
    """A cell of a CSV file. Puts an apostrophe before whatever a spreadsheet would take for a
    formula, to make it text. OWASP, "CSV Injection"; CWE-1236. After a semicolon too, because Excel
    starts a new cell there in some countries.
    """
    return FORMULA.sub(r"\1\2'", one_line(str(value)))


def csv_of(rows: Iterable[Sequence[object]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows([cell(value) for value in row] for row in rows)
    return text.getvalue().encode()


def by_hand_in(answers: Iterable[Answer]) -> dict[tuple[Student, str], list[Answer]]:
    """The answers of each hand-in with exercises, and of a missing one if the teacher gave it
    points.
    """
    found = defaultdict(list)
    for one in answers:
        if one.exercise:
            found[one.student, one.lesson].append(one)
    return {
        at: of
        for at, of in found.items()
        if any(one.outcome != "missing" or one.by_teacher for one in of)
    }


def points(answers: Sequence[Answer]) -> str:
    """Of a hand-in; "" while an answer isn't settled, or if there is none."""
    settled = answers and all(one.is_settled for one in answers)
    return number(sum(one.points for one in answers)) if settled else ""


def most(answers: Sequence[Answer]) -> str:
    """The most points that a student can get for a hand-in."""
    return number(sum(one.most for one in answers))
