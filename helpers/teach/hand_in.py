"""One file to hand in: the student's notebook of a lesson, and the student's predictions in it."""

import getpass
import json
import os
import re
import time
import zipfile
from collections.abc import Collection, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from urllib.parse import quote

from .. import folders, kernel
from ..units import in_unit
from . import state
from .exercise_files import checked_in
from .exercises import Exercise, exercises
from .notebook_files import NoNotebook, code_cells, content, read
from .predict import FILE
from .quizzes import quizzes
from .source import Cell, NotCarried, answer, in_the_kernel, not_python
from .words import Said, paragraphs, plain

FOLDER = "hand-in"  # in the student's folder
ANSWERED = "answered"


class NotSaved(ValueError):
    """What was run isn't what the notebook's file holds."""


def hand_in(lesson: str | int = "", name: str = "", file: str | Path = "") -> Said:
    """Makes hand-in/02_<name>.zip in the student's folder from a notebook as saved, and says what
    it holds.

    hand_in()                           the lesson that calls it, under the name of the user
    hand_in("02", name="Ada Lovelace")

    The notebook is `file`; or else the one that calls this, if it's a copy of the lesson, or has an
    answer; or else, of the student's copies with an answer, the one saved last. Beside it lies
    `predictions.json`, {"02.chunk": 256.0, …}, with the answers to quizzes, "02.quiz-counter":
    "cb". FileNotFoundError if there's no copy, NoNotebook if it can't be read, NotSaved if this
    kernel ran another answer than it holds. ValueError without `lesson`, away from its notebook.
    """
    lesson = str(lesson)  # 0 is lesson 00
    mine = kernel.notebook()
    folder = folders.work()
    if not lesson and not (mine and mine.name[:2] in [path.name[:2] for path in folders.lessons()]):
        raise ValueError(
            'this is no lesson\'s notebook; say which lesson to hand in: hand_in("02")'
        )
    original = folders.lesson(lesson or mine.name[:2])
    lesson = original.name[:2]
    its_exercises = [one for one in exercises() if one.key.startswith(f"{lesson}.")]
    copies = sorted(folder.glob(f"{original.stem}*.ipynb"), key=_saved, reverse=True)
    answered = {
        copy: sum(_stand(one, _cells(copy))[0] == ANSWERED for one in its_exercises)
        for copy in [*copies, *([mine] if mine else [])]
    }
    last = next(
        (copy for copy in copies if answered[copy]), next(iter(copies), folder / original.name)
    )
    path = Path(file).resolve() if file else mine if mine in copies or answered.get(mine) else last
    if not path.is_file():
        fresh = folders.typed(f"fresh LESSON={lesson}")
        raise FileNotFoundError(
            f"there is no {path}. `{fresh}`, typed in a terminal, makes a fresh copy"
        )
    cells = code_cells(read(path))
    if path == mine or not mine:
        _is_saved({text.strip() for _, text in cells}, lesson)
    predictions = {
        key: value for key, value in state.read(FILE).items() if key.startswith(f"{lesson}.")
    }
    with suppress(Exception):  # a user without a name here: ImportError, KeyError or OSError
        name = name or getpass.getuser()
    whose = re.sub(r"[^\w-]+", "-", name).strip("-")[:40] or "student"
    made = folder / FOLDER / f"{lesson}_{whose}.zip"
    clicked = {quiz.handed_in: quiz.clicked for quiz in quizzes(lesson) if quiz.clicked}
    predicted = json.dumps(predictions | clicked, indent=1, sort_keys=True) + "\n"
    with zipfile.ZipFile(zipped := BytesIO(), "w") as archive:
        for entry, data in ((original.name, content(path)), ("predictions.json", predicted)):
            # without today's time
            archive.writestr(zipfile.ZipInfo(entry), data, zipfile.ZIP_DEFLATED)
    try:
        made.parent.mkdir(exist_ok=True)
        folders.write_whole(made, zipped.getvalue())
    except (FileExistsError, IsADirectoryError, PermissionError) as error:
        why = (
            f"{error.filename} is in the way of your zip ({error.strerror}). Move it away, and "
            "hand in again"
        )
        raise type(error)(why) from None
    count = in_unit(len(predictions), "predictions")
    count += (
        f" and answers to {len(clicked)} quiz{'' if len(clicked) == 1 else 'zes'}"
        if clicked
        else ""
    )
    stand = {
        one.key: _stand(one, cells, in_the_kernel() if path == mine else ())
        for one in its_exercises
    }
    on_a_hub = "JUPYTERHUB_USER" in os.environ
    where = (
        "Your teacher collects it there."
        if on_a_hub
        else "Hand this file in where your teacher collects them."
    )
    lines = [
        (
            f"`{made}` is ready: your notebook `{path.name}` as you saved it {_when(path)}, and "
            f"{count}. {where} If you change anything, save the notebook and do this again."
        ),
        ", ".join(f"{key}: {how}" for key, (how, _) in stand.items()) + ".",
        *(f"{key}: {note}" for key, (_, note) in stand.items() if note),
    ]
    if its_exercises and ANSWERED not in (how for how, _ in stand.values()):
        lines.append("No exercise in it is answered.")
    for one in its_exercises:
        if one.was_right and stand[one.key][0] != ANSWERED:
            remedy = (
                "If it's in a notebook that is open, save that (Ctrl+S or Cmd+S) and hand in again."
            )
            lines.insert(
                1, f"**You got {one.key} right, but that answer isn't in this file.** {remedy}"
            )
    for copy in copies:
        later = "later, " * (_saved(copy) > _saved(path))
        if copy != path and (later or answered[copy]):
            about = f"`{copy.name}`, saved {later}{_when(copy)}, {answered[copy]} answered"
            instead = (
                "call `hand_in` in it, or run "
                f"`{folders.typed(f'hand-in LESSON={lesson} FILE={copy}')}`"
            )
            lines.append(f"Another copy isn't in it: {about}. To hand in that one, {instead}.")
    text = "\n\n".join(lines)
    link = quote(Path(os.path.relpath(made, (mine or path).parent)).as_posix())
    return Said(
        plain(text), f'{paragraphs(text)}<p><a href="{link}" download>Download {made.name}</a></p>'
    )


def _stand(asked: Exercise, cells: Sequence[Cell], there: Collection[str] = ()) -> tuple[str, str]:
    """How an exercise stands in these cells, in a word, and what to know about that, if
    anything.
    """
    try:
        found = answer(asked, cells, there)
    except NotCarried as slip:
        return "can't be graded", str(slip)
    if not found or not asked.is_attempt(found.code):
        if broken := not_python(cells, asked.name):
            return "can't be graded", broken
        return "starter" if found else "not there", ""
    again = (found.again or "").strip("<>")
    counts = found.file.strip("<>")
    note = (
        f"{again} defines it again below the cell that checks it; what counts is {counts}, which "
        "you checked."
    )
    return ANSWERED, note if again else ""


def _cells(path: Path | None) -> list[Cell]:
    """The code cells of a copy; none if it can't be read."""
    with suppress(NoNotebook):
        return code_cells(read(path)) if path else []
    return []


def _is_saved(texts: Collection[str], lesson: str) -> None:
    """Raises NotSaved if the answer to an exercise that this kernel ran last is none of these
    cells.
    """
    shell = kernel.running_shell()
    cells = shell.history_manager.input_hist_raw if shell else []
    ran = {key: cell.strip() for cell in cells for key in checked_in(cell)}
    for key, text in ran.items():
        if key.startswith(f"{lesson}.") and text not in texts:
            remedy = (
                "Save the notebook (Ctrl+S or Cmd+S) and hand in again; if you've changed that "
                "cell, run it first"
            )
            raise NotSaved(
                f"the notebook's file doesn't hold what you ran last for exercise(\"{key}\"). "
                f"{remedy}"
            )


def _saved(path: Path) -> float:
    return path.stat().st_mtime


def _when(path: Path) -> str:
    return time.strftime("at %H:%M on %d %B", time.localtime(_saved(path)))
