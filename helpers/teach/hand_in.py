"""One file to hand in: the student's notebook of a lesson, and the student's predictions in it."""

import getpass
import json
import os
import re
import time
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from urllib.parse import quote

from .. import folders, kernel
from . import answers, kept
from .exercises import Exercise, exercises
from .notebook_files import NoNotebook, code_cells, content, read
from .predict import FILE
from .quizzes import quizzes
from .source import Cell, NotCarried
from .words import Said, paragraphs, plain

FOLDER = "hand-in"  # in the student's folder
ANSWERED = "answered"


class NotSaved(ValueError):
    """What was run isn't what the notebook's file holds."""


def hand_in(lesson: str, name: str = "", file: str | Path = "") -> Said:
    """Makes hand-in/02_<name>.zip in the student's folder from a notebook as saved, and says what it holds.

    hand_in("02")                       under the name of the user
    hand_in("02", name="Ada Lovelace")

    The notebook is `file`; or else the one that calls this, if it has an exercise of the lesson; or else, of the
    student's copies with an answer, the one saved last. The zip holds it as `02_copy_a_big_file.ipynb`, beside
    `predictions.json`, {"02.chunk": 256.0, …}, with the answers to quizzes, "02.quiz-counter": "cb". Raises ValueError
    if there's no such lesson, FileNotFoundError if there's no copy, NoNotebook if it can't be read, and NotSaved if
    this kernel ran another answer than it holds.
    """
    original, mine = folders.lesson(lesson), kernel.notebook()
    lesson, folder = original.name[:2], folders.work()
    copies = {path: _cells(path) for path in sorted(folder.glob(f"{original.stem}*.ipynb"), key=_saved, reverse=True)}
    path = Path(file).resolve() if file else _chosen(lesson, copies, mine) or folder / original.name
    if not path.is_file():
        raise FileNotFoundError(f"there is no {path}. Start JupyterLab with `make lab`: it puts a fresh copy there")
    cells = code_cells(read(path))
    if path == mine or not mine:
        _is_saved({text.strip() for _, text in cells}, lesson)
    predictions = {key: value for key, value in kept.read(FILE).items() if key.startswith(f"{lesson}.")}
    made = folder / FOLDER / f"{lesson}_{_in_a_file_name(name or _user())}.zip"
    clicked = {quiz.handed_in: quiz.clicked for quiz in quizzes(lesson) if quiz.clicked}
    predicted = json.dumps(predictions | clicked, indent=1, sort_keys=True) + "\n"
    zipped = _zipped({original.name: content(path), "predictions.json": predicted.encode()})
    try:
        made.parent.mkdir(exist_ok=True)
        folders.write_whole(made, zipped)
    except (FileExistsError, IsADirectoryError, PermissionError) as error:
        why = f"{error.filename} is in the way of your zip ({error.strerror}). Move it away, and hand in again"
        raise type(error)(why) from None
    count = f"{len(predictions)} prediction{'' if len(predictions) == 1 else 's'}"
    count += f" and answers to {len(clicked)} quiz{'' if len(clicked) == 1 else 'zes'}" if clicked else ""
    text = (
        f"`{made}` is ready: your notebook `{path.name}` as you saved it {_when(path)}, and {count}. Hand this file in "
        "where your teacher collects them. If you change anything, save the notebook and do this again."
    )
    stand = [*_stand(lesson, cells, answers.in_the_kernel() if path == mine else ())]
    lines = [text, ", ".join(f"{key}: {how}" for key, how, _ in stand) + "."]
    lines += [f"{key}: {note}" for key, _, note in stand if note]
    text = "\n\n".join([*lines, *_others(lesson, copies, path)])
    link = quote(Path(os.path.relpath(made, (mine or path).parent)).as_posix())
    return Said(plain(text), f'{paragraphs(text)}<p><a href="{link}" download>Download {made.name}</a></p>')


def _chosen(lesson: str, copies: Mapping[Path, Sequence[Cell]], mine: Path | None) -> Path | None:
    if mine and any(re.search(rf"exercise\(\s*['\"]{lesson}\.", text) for _, text in _cells(mine)):
        return mine
    return next((path for path in copies if _answered(lesson, copies[path])), next(iter(copies), None))


def _others(lesson: str, copies: Mapping[Path, Sequence[Cell]], path: Path) -> Iterator[str]:
    """A line for each other copy that was saved later, or has answers."""
    for other in copies:
        later, count = "later, " * (_saved(other) > _saved(path)), _answered(lesson, copies[other])
        if other != path and (later or count):
            yield (
                f"Another copy isn't in it: `{other.name}`, saved {later}{_when(other)}, {count} answered. To hand in "
                f"that one, call `hand_in` in it, or run `make hand-in LESSON={lesson} FILE={other}`."
            )


def _stand(lesson: str, cells: Sequence[Cell], there: Collection[str] = ()) -> Iterator[tuple[str, str, str]]:
    """How each exercise of the lesson stands in these cells: its key, a word, and what to know of it, if anything."""
    for asked in _exercises(lesson):
        try:
            found = asked.answer(cells, there)
        except NotCarried as slip:
            yield asked.key, "can't be graded", str(slip)
            continue
        note = ""
        if found and found.again:
            other, what = found.again.strip("<>"), found.steps[-1].co_filename.strip("<>")
            note = f"{other} defines it again below the cell that checks it; what counts is {what}, which you checked."
        yield asked.key, "not there" if not found else ANSWERED if asked.is_attempt(found.code) else "starter", note


def _answered(lesson: str, cells: Sequence[Cell]) -> int:
    return sum(how == ANSWERED for _, how, _ in _stand(lesson, cells))


def _exercises(lesson: str) -> Iterator[Exercise]:
    return (asked for asked in exercises() if asked.key.startswith(f"{lesson}."))


def _cells(path: Path) -> list[Cell]:
    """The code cells of a copy; none if it can't be read."""
    with suppress(NoNotebook):
        return code_cells(read(path))
    return []


def _is_saved(texts: Collection[str], lesson: str) -> None:
    """Raises NotSaved if the answer to an exercise that this kernel ran last is none of these cells."""
    for asked in _exercises(lesson):
        ran = _ran_last(asked.key)
        if ran and ran.strip() not in texts:
            raise NotSaved(
                f"the notebook's file doesn't hold what you ran last for exercise(\"{asked.key}\"). Save the notebook "
                "(Ctrl+S, or Cmd+S) and hand in again; if you've changed that cell since, run it first"
            )


def _ran_last(key: str) -> str | None:
    """The cell that this kernel ran last to check this exercise; None if it ran none."""
    shell = kernel.running_shell()
    ran = shell.history_manager.input_hist_raw if shell else []
    check = re.compile(rf"exercise\(\s*['\"]{re.escape(key)}['\"]\s*\)\s*\.check\(")
    return next((cell for cell in reversed(ran) if check.search(cell)), None)


def _saved(path: Path) -> float:
    return path.stat().st_mtime


def _when(path: Path) -> str:
    return time.strftime("at %H:%M on %d %B", time.localtime(_saved(path)))


def _user() -> str:
    with suppress(Exception):  # a user without a name here: ImportError, KeyError or OSError
        return getpass.getuser()
    return ""


def _in_a_file_name(name: str) -> str:
    return re.sub(r"[^\w-]+", "-", name).strip("-")[:40] or "student"


def _zipped(files: dict[str, bytes]) -> bytes:
    """The same bytes for the same files, so without today's time."""
    made = BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return made.getvalue()
