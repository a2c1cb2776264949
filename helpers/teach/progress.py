"""What a student has done so far, and what comes next: the predictions, quizzes and exercises of
every lesson.
"""

import re
from collections.abc import Mapping
from html import escape

from .. import folders
from ..measure.tables import html_table, text_table
from . import state
from .exercises import Exercise, exercises
from .notebook_files import Notebook, read
from .predict import FILE, LATE
from .quizzes import quizzes
from .short_path import hours, short_path
from .words import BADGES, Said, badge, paragraphs, plain

HEADER = ("lesson", "predictions", "quizzes", "exercises")
ASKED = re.compile(r"""\b(predict|quiz)\(\s*["']([^"']+)["']""")
BAR = 40  # letters


def progress() -> Said:
    """A table of your predictions, quizzes and exercises in each lesson, a bar for all of them, and
    what comes next, in the course and on its short path.
    """
    known = exercises()
    lessons = {path.name[:2]: read(path) for path in folders.lessons()}
    rows, dones, mosts, next_up = zip(
        *(_lesson(number, lesson, known) for number, lesson in lessons.items()), strict=True
    )
    caption = (
        f"{sum(exercise.was_right for exercise in known)} of {len(known)} exercises are right."
    )
    done = sum(dones)
    most = sum(mosts)
    begun_first = sorted(filter(None, next_up), key=lambda step: not step.startswith("`"))
    after = f"{done} of {most} done. " + (
        f"**Next:** {begun_first[0]}." if begun_first else "That's all there is."
    )
    full = BAR * done // most
    # a badge for each sign and its words
    outcomes = {sign: outcome for outcome, (sign, *_) in BADGES.items()}
    cells = html_table(caption, HEADER, rows)
    table = re.sub(
        "([✓○]) ([^·<]+[^ ·<])", lambda found: badge(outcomes[found[1]], found[2]), cells
    )
    bar = (
        f'<progress value="{done}" max="{most}" aria-label="done"'
        ' style="width:100%;max-width:30em"></progress>'
    )
    said = f"{text_table(HEADER, rows)}\n{caption}\n{'█' * full}{'░' * (BAR - full)} {plain(after)}"
    shown = f"{table}{bar}{paragraphs(after)}"
    if path := _short_path(lessons):
        said += f"\n{plain(path)}"
        shown += paragraphs(path)
    if pages := [
        f"feedback/{page.name}" for page in sorted(folders.work().glob("feedback/*.html"))
    ]:
        said += f"\nYour teacher's feedback: {', '.join(pages)}"
        links = ", ".join(f'<a href="{escape(page)}">{escape(page)}</a>' for page in pages)
        shown += f"<p>Your teacher's feedback: {links}</p>"
    return Said(said, shown)


def _short_path(lessons: Mapping[str, Notebook]) -> str:
    """How much of the short path is done, and where it goes on; "" if not all of its lessons are
    here, as in the edition of a class that takes a few.
    """
    if not (parts := short_path(lessons)):
        return ""
    asked = {
        one: f"“{heading}” in lesson {part.lesson}"
        for part in parts
        for heading, cell in part.cells(lessons[part.lesson])
        for one in ASKED.findall("".join(cell["source"]))
    }
    done = {("predict", key) for key in [*state.read(FILE), *_late()]}
    done |= {("quiz", quiz.key) for quiz in quizzes() if quiz.solved}
    left = [where for one, where in asked.items() if one not in done]
    counted = f"{len(asked) - len(left)} of {len(asked)} predictions and quizzes done"
    after = f"**Next:** {left[0]}." if left else "That's the heart of the course."
    return f"**The short path**, {hours(parts)} hours: {counted}. {after}"


def _late() -> set[str]:
    """The predictions that were made after the measurement."""
    return {key for key, value in state.read(LATE).items() if value}


def _lesson(
    number: str, lesson: Notebook, known: tuple[Exercise, ...]
) -> tuple[tuple[str, ...], int, int, str]:
    """A lesson's row; how many of its predictions, quizzes and exercises are done, and how many
    there are; and what comes next: a line of code in a lesson that was begun, otherwise the lesson;
    "" if all is done.
    """
    texts = ["".join(cell["source"]) for cell in lesson["cells"]]
    title = texts[0].splitlines()[0].lstrip("# ")
    asked = {key for text in texts for kind, key in ASKED.findall(text) if kind == "predict"}
    on_time = asked & set(state.read(FILE))
    late = _late() & asked - on_time
    asks = quizzes(number)
    mine = [exercise for exercise in known if exercise.key.startswith(f"{number}.")]
    left = [f'`exercise("{exercise.key}")`' for exercise in mine if not exercise.was_right]
    unsolved = [f'`quiz("{quiz.key}")`' for quiz in asks if not quiz.solved]
    predicted = f"{len(on_time | late)} of {len(asked)}{f', {len(late)} late' if late else ''}"
    row = (
        title,
        predicted,
        f"{len(asks) - len(unsolved)} of {len(asks)}",
        " · ".join(map(_stand, mine)),
    )
    most = len(asked) + len(asks) + len(mine)
    done = most - (len(asked) - len(on_time | late)) - len(unsolved) - len(left)
    step = next(iter(left + unsolved), "")
    return row, done, most, f"{step} in {title}" if step and done else title if step else ""


def _stand(exercise: Exercise) -> str:
    name = exercise.folder.name
    times = "once" if exercise.attempts == 1 else f"{exercise.attempts} times"
    if exercise.was_right:
        return f"✓ {name}: right"
    return f"○ {name}: tried {times}" if exercise.attempts else f"{name}: not attempted"
