"""One file to hand in: the student's notebook of a lesson, and the student's predictions in it."""

import getpass
import json
import re
import time
import zipfile
from contextlib import suppress
from io import BytesIO

from .. import folders
from ..kernel import running_shell
from . import exercise_files, kept
from .notebook_files import Notebook, content, read
from .predict import FILE
from .quizzes import quizzes
from .words import Said, paragraphs, plain

FOLDER = "hand-in"  # in the student's folder


class NotSaved(ValueError):
    """What was run isn't what the notebook's file holds."""


def hand_in(lesson: str, name: str = "") -> Said:
    """Makes hand-in/02_<name>.zip in the student's folder from the notebook as saved, and says what to do with it.

    hand_in("02")                       under the name of the user
    hand_in("02", name="Ada Lovelace")

    It holds `02_copy_a_big_file.ipynb` and `predictions.json`: {"02.chunk": 256.0, …}, with the answers to quizzes,
    "02.quiz-counter": "cb". Raises ValueError if there's no such lesson, FileNotFoundError if the student has no copy
    of it, NoNotebook if the copy can't be read, and NotSaved if this kernel ran another answer than the file holds.
    """
    path = folders.work() / folders.lesson(lesson).name
    if not path.is_file():
        raise FileNotFoundError(f"there is no {path}. Start JupyterLab with `make lab`: it puts a fresh copy there")
    _is_saved(read(path), lesson)
    predictions = {key: value for key, value in kept.read(FILE).items() if key.startswith(f"{lesson}.")}
    made = path.parent / FOLDER / f"{lesson}_{_in_a_file_name(name or _user())}.zip"
    answers = {quiz.handed_in: quiz.clicked for quiz in quizzes(lesson) if quiz.clicked}
    predicted = json.dumps(predictions | answers, indent=1, sort_keys=True) + "\n"
    zipped = _zipped({path.name: content(path), "predictions.json": predicted.encode()})
    try:
        made.parent.mkdir(exist_ok=True)
        folders.write_whole(made, zipped)
    except (FileExistsError, IsADirectoryError, PermissionError) as error:
        why = f"{error.filename} is in the way of your zip ({error.strerror}). Move it away, and hand in again"
        raise type(error)(why) from None
    saved = time.strftime("%H:%M on %d %B", time.localtime(path.stat().st_mtime))
    count = f"{len(predictions)} prediction{'' if len(predictions) == 1 else 's'}"
    count += f" and answers to {len(answers)} quiz{'' if len(answers) == 1 else 'zes'}" if answers else ""
    text = (
        f"`{made}` is ready: your notebook as you saved it at {saved}, and {count}. Hand this file in where your "
        "teacher collects them. If you change anything, save the notebook and do this again."
    )
    return Said(plain(text), paragraphs(text))


def _is_saved(notebook: Notebook, lesson: str) -> None:
    """Raises NotSaved if the answer to an exercise that this kernel ran last isn't in any cell of the file."""
    texts = {"".join(cell["source"]).strip() for cell in notebook["cells"]}
    known = exercise_files.keys()
    for key in known:
        ran = _ran_last(key)
        if key.startswith(f"{lesson}.") and ran and ran.strip() not in texts:
            raise NotSaved(
                f"the notebook's file doesn't hold what you ran last for exercise(\"{key}\"). Save the notebook "
                "(Ctrl+S, or Cmd+S) and hand in again; if you've changed that cell since, run it first"
            )


def _ran_last(key: str) -> str | None:
    """The cell that this kernel ran last to check this exercise; None if it ran none."""
    shell = running_shell()
    ran = shell.history_manager.input_hist_raw if shell else []
    check = re.compile(rf"exercise\(\s*['\"]{re.escape(key)}['\"]\s*\)\s*\.check\(")
    return next((cell for cell in reversed(ran) if check.search(cell)), None)


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
