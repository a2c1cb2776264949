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
    """A table of the predictions you have made in each lesson, and of how you stand with its exercises."""
    known, predicted = exercises(), kept.read(FILE)
    rows = [_row(lesson, known, set(predicted)) for lesson in folders.lessons()]
    caption = f"{sum(exercise.was_right for exercise in known)} of {len(known)} exercises are right."
    return Said(f"{text_table(HEADER, rows)}\n{caption}", html_table(caption, HEADER, rows))


def _row(lesson: Path, known: tuple[Exercise, ...], predicted: set[str]) -> tuple[str, str, str]:
    number, texts = lesson.name[:2], ["".join(cell["source"]) for cell in read(lesson)["cells"]]
    asked = {key for text in texts for key in ASKED.findall(text)}
    stand = (f"{e.folder.name}: {_stand(e)}" for e in known if e.key.startswith(f"{number}."))
    return texts[0].splitlines()[0].lstrip("# "), f"{len(asked & predicted)} of {len(asked)}", " · ".join(stand)


def _stand(exercise: Exercise) -> str:
    if exercise.was_right:
        return "right"
    times = "once" if exercise.attempts == 1 else f"{exercise.attempts} times"
    return f"tried {times}" if exercise.attempts else "not attempted"
