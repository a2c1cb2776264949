"""What a student has done so far: the exercises and predictions of every lesson."""

import re
from html import escape
from pathlib import Path

from .. import folders
from . import kept
from .exercises import Exercise, exercises
from .notebook_files import read
from .predict import FILE
from .words import Said

ASKED = re.compile(r"""\bpredict\(\s*["']([^"']+)["']""")


def progress() -> Said:
    """A table: of each lesson the predictions that you have made, and how you stand with its exercises."""
    known, predicted = exercises(), kept.read(FILE)
    head = ("lesson", "predictions", "exercises")
    rows = [_row(lesson, known, set(predicted)) for lesson in folders.lessons()]
    right = sum(one.was_right for one in known)
    caption = f"{right} of {len(known)} exercises are right."
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in (head, *rows)]
    cells = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    names = "".join(f"<th>{name}</th>" for name in head)
    table = f"<table><caption>{caption}</caption><thead><tr>{names}</tr></thead><tbody>{cells}</tbody></table>"
    return Said("\n".join([*lines, caption]), f'<div class="zc-progress">{table}</div>')


def _row(lesson: Path, known: tuple[Exercise, ...], predicted: set[str]) -> tuple[str, str, str]:
    number, texts = lesson.name[:2], ["".join(cell["source"]) for cell in read(lesson)["cells"]]
    asked = {key for text in texts for key in ASKED.findall(text)}
    stand = (f"{one.key}: {_stand(one)}" for one in known if one.key.startswith(f"{number}."))
    return texts[0].splitlines()[0].lstrip("# "), f"{len(asked & predicted)} of {len(asked)}", ", ".join(stand)


def _stand(one: Exercise) -> str:
    if one.was_right:
        return "right"
    times = "once" if one.attempts == 1 else f"{one.attempts} times"
    return f"tried {times}" if one.attempts else "not attempted"
