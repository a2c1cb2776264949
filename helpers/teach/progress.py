"""What a student has done so far: the exercises and predictions of every lesson."""

import re
from pathlib import Path

from .. import folders
from ..measure.tables import html_table, text_table
from . import kept
from .exercises import Exercise, exercises
from .notebook_files import read
from .predict import FILE
from .words import Said

HEADER = ("lesson", "predictions", "exercises")
ASKED = re.compile(r"""\bpredict\(\s*["']([^"']+)["']""")


def progress() -> Said:
    """A table: of each lesson the predictions that you have made, and how you stand with its exercises."""
    known, predicted = exercises(), kept.read(FILE)
    rows = [_row(lesson, known, set(predicted)) for lesson in folders.lessons()]
    caption = f"{sum(one.was_right for one in known)} of {len(known)} exercises are right."
    return Said(f"{text_table(HEADER, rows)}\n{caption}", html_table(caption, HEADER, rows))


def _row(lesson: Path, known: tuple[Exercise, ...], predicted: set[str]) -> tuple[str, str, str]:
    number, texts = lesson.name[:2], ["".join(cell["source"]) for cell in read(lesson)["cells"]]
    asked = {key for text in texts for key in ASKED.findall(text)}
    stand = (f"{one.folder.name}: {_stand(one)}" for one in known if one.key.startswith(f"{number}."))
    return texts[0].splitlines()[0].lstrip("# "), f"{len(asked & predicted)} of {len(asked)}", " · ".join(stand)


def _stand(one: Exercise) -> str:
    if one.was_right:
        return "right"
    times = "once" if one.attempts == 1 else f"{one.attempts} times"
    return f"tried {times}" if one.attempts else "not attempted"
