"""A course in nbgrader: its source/, made from the lessons, its settings and its gradebook.
platforms/nbgrader.py reads what was submitted, and writes our verdicts. nbgrader runs no student's
code: see template/nbgrader_config.py.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..edition import edition
from ..folders import NOTEBOOKS, write_whole
from ..publish.tidy import asked
from ..teach import exercise
from .course import TEMPLATES, Course

CONFIG = "nbgrader_config.py"
# nbgrader clears a cell that is marked as an answer, unless these lines mark a part of it: then it
# clears that part.
NOTHING_TO_CLEAR = (
    "\n# BEGIN SOLUTION: none. These two lines keep nbgrader from clearing the starter.\n# END "
    "SOLUTION"
)


class NotReady(RuntimeError):
    """nbgrader, its course or this checkout isn't as it must be. The message says what is wrong,
    and what to do.
    """


def make_source(folder: Path, lessons: Iterable[Path], course: Course) -> list[Path]:
    """Writes source/02_copy_a_big_file/02_copy_a_big_file.ipynb for each of these lessons, and
    nbgrader_config.py if there is none. Returns the notebooks' paths. Each exercise's cell is an
    answer, worth the course's points. Raises NotReady, and writes no notebook, if there is a
    different one, if an exercise's cell isn't its starter, or if the course's settings would let
    nbgrader run students' code.
    """
    if not (folder / CONFIG).exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / CONFIG, (TEMPLATES / CONFIG).read_bytes())
    at = settings(folder).coursedir
    texts = {}
    for lesson in lessons:
        path = Path(at.format_path(at.source_directory, ".", lesson.stem), lesson.name)
        texts[path] = _marked(lesson, course)
        if path.exists() and path.read_text(encoding="utf-8") != texts[path]:
            remedy = (
                f"It may be your work: move the folder {path.parent} away, or delete it, and run "
                "this again"
            )
            raise NotReady(
                f"{path} is there, and not as this edition and class.toml would make it. {remedy}"
            )
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    return list(texts)


def assignment(lesson: str) -> str:
    """nbgrader's name for a lesson and for its only notebook: "02" is "02_copy_a_big_file"."""
    return next(NOTEBOOKS.glob(f"{lesson}_*.ipynb")).stem


def grade_id(key: str) -> str:
    """nbgrader's name for an exercise, where it allows no dot: "02.chunks" is "02-chunks"."""
    return key.replace(".", "-")


def _marked(lesson: Path, course: Course) -> str:
    notebook = json.loads(lesson.read_text(encoding="utf-8"))
    notebook["metadata"].setdefault(
        "zero_copy", {"edition": str(edition()), "commit": edition().commit}
    )
    for cell in notebook["cells"]:
        if not (key := asked(cell)):
            continue
        if "".join(cell["source"]) != exercise(key).cell:
            raise NotReady(
                f"{lesson}: the cell of {key} is not its starter, and students would get what is "
                "in it"
            )
        cell["source"] = (exercise(key).cell + NOTHING_TO_CLEAR).splitlines(keepends=True)
        mark = {"grade": True, "solution": True, "locked": False, "points": course.worth(key)}
        cell["metadata"]["nbgrader"] = {"schema_version": 3, "grade_id": grade_id(key), **mark}
    return json.dumps(notebook, sort_keys=True, indent=1, ensure_ascii=False) + "\n"


def settings(folder: Path) -> Any:
    """nbgrader as it would start in this course, with every settings file that it would read.
    Raises NotReady if these would let it run students' code, lack another line of ours, or lead to
    another folder.
    """
    if not find_spec("nbgrader"):
        raise NotReady(
            "nbgrader is not installed; `make class NBGRADER=…` and `make grade NBGRADER=…` "
            "install it"
        )
    from nbgrader.apps.baseapp import NbGrader

    if not (folder / CONFIG).exists():
        raise NotReady(
            f"{folder} is not an nbgrader course: it has no {CONFIG}. `make class NBGRADER=…` "
            "makes one"
        )
    app = NbGrader(log_level="ERROR")
    app.load_cwd_config = False
    app.initialize([], root=str(folder.resolve()))
    if (root := Path(app.coursedir.root).resolve()) != folder.resolve():
        raise NotReady(
            f"nbgrader's settings put the course of {folder} into {root}; use NBGRADER={root} "
            "instead"
        )
    said = app.config
    in_force = {
        "c.Execute.": said.Execute.get("enabled") is False,
        "c.SaveAutoGrades.": said.SaveAutoGrades.get("enabled") is False,
        "c.Autograde.": "SanitizeHTML" in str(said.Autograde.get("sanitize_preprocessors")),
        "c.SanitizeHTML.": said.SanitizeHTML.get("enabled") is True,
        "c.ClearSolutions.": said.ClearSolutions.get("code_stub") == {"python": ""},
    }
    missing = tuple(start for start, is_in_force in in_force.items() if not is_in_force)
    wanted = (TEMPLATES / CONFIG).read_text(encoding="utf-8").splitlines()
    if lines := [line for line in wanted if line.startswith(missing)]:
        why = "nbgrader would run students' code with your rights, or change their notebooks"
        head = f"With its settings for {folder}, {why}. Add to {folder / CONFIG}:"
        raise NotReady("\n  ".join([head, *lines]))
    return app


@contextmanager
def gradebook(app: Any, exercises: Iterable[str], course: Course) -> Iterator[Any]:
    """The course's, to write to, with a cell for each of these exercises. Raises NotReady if it
    isn't there, or isn't as it must be.
    """
    from nbgrader import api
    from sqlalchemy.exc import SQLAlchemyError

    url = app.coursedir.db_url
    if url.startswith("sqlite:///") and not Path(url.removeprefix("sqlite:///")).exists():
        raise NotReady(
            f"there is no gradebook {url}; run `nbgrader generate_assignment` for each lesson first"
        )
    try:
        with api.Gradebook(url, app.coursedir.course_id) as book:
            # fails on a gradebook of another form, before anything is written
            for kind in ("Student", "SubmittedAssignment", "SubmittedNotebook", "Grade", "Comment"):
                book.db.query(getattr(api, kind)).first()
            for key in exercises:
                _check_cell(book, key, course)
            yield book
    except (SQLAlchemyError, api.InvalidEntry, api.MissingEntry) as error:
        raise NotReady(
            f"the gradebook {url} cannot be written to: {getattr(error, 'orig', error)}. Nothing "
            "is lost. If it's locked, end formgrader or what else is writing to it. If something "
            "is missing from it, another version of nbgrader made it: make a copy of it, then run "
            "`nbgrader db upgrade`. Then grade again"
        ) from error


def _check_cell(book: Any, key: str, course: Course) -> None:
    from nbgrader.api import MissingEntry

    name = assignment(key.partition(".")[0])
    remedy = (
        "run `make class NBGRADER=…`, then in the course's folder `nbgrader generate_assignment "
        f"{name} --force`"
    )
    try:
        cell = book.find_grade_cell(grade_id(key), name, name)
    except MissingEntry as error:
        raise NotReady(f"the gradebook has no {key} ({error}); {remedy}") from None
    if cell.max_score != course.worth(key):
        worth = f"{course.worth(key):g} points in class.toml, {cell.max_score:g} in the gradebook"
        raise NotReady(f"{key} is worth {worth}. Delete source/{name}; {remedy}")
