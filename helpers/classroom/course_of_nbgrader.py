"""A course in nbgrader: writes its source/ from the lessons, and our verdicts to its gradebook.

nbgrader runs no student's code: see template/nbgrader_config.py. The check's verdict goes where
nbgrader's own tests would have put theirs (auto_score, auto_comment). We never touch what a teacher
types in formgrader (manual_score, manual_comment), and it counts before the verdict.
"""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any

from ..edition import edition
from ..folders import NOTEBOOKS, write_whole
from ..lasting import progress_bar
from ..publish.tidy import asked
from ..teach import exercise
from ..whole import regular_file
from .course import TEMPLATES, Course
from .reading import for_one
from .store import Row, Store

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
    at = _settings(folder).coursedir
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


def put_scores(folder: Path, records: Store, course: Course) -> str:
    """Writes the score and verdict of every answer below submitted/ to the course's gradebook, and
    says what it wrote. Marks for the teacher ("needs manual grading") each answer that could not be
    graded, and each score that a teacher typed before the check's changed. Raises NotReady, before
    it writes anything, if the gradebook lacks something.
    """
    app = _settings(folder)
    from nbgrader.utils import parse_utc

    rows = [row for row in records.all(Row) if _submitted(app, row.student, row.lesson).is_dir()]
    ungraded, teachers = [], []
    with _gradebook(app) as book:
        for key in sorted({row.exercise for row in rows}):
            _check_cell(book, key, course)
        each = [
            (of, list(answers))
            for of, answers in groupby(rows, key=lambda row: (row.student, row.lesson))
        ]
        for (student, lesson), answers in progress_bar(
            each, desc="writing scores", unit="submission"
        ):
            name = assignment(lesson)
            stamp: dict[str, datetime] = {}  # stays empty if the file holds something else
            at = _submitted(app, student, lesson) / "timestamp.txt"
            with suppress(OSError), for_one(), regular_file(at) as file:
                stamp["timestamp"] = parse_utc(file.read(100).decode().strip())
            book.update_or_create_student(student)
            with book.db.no_autoflush:  # SQLAlchemy's autoflush warns about what nbgrader does here
                book.update_or_create_submission(name, student, **stamp)
            for row in answers:
                at, (score, words) = (
                    (grade_id(row.exercise), name, name, student),
                    _judged(row, course),
                )
                grade = book.find_grade(*at)
                comment = book.find_comment(*at)
                if grade.manual_score is None:
                    grade.needs_manual_grade = score is None
                # the teacher's score stays, and is to be looked at again
                elif grade.auto_score != score:
                    grade.needs_manual_grade = True
                grade.auto_score, comment.auto_comment = score, words
                if score is None:
                    ungraded.append(f"{student} {row.exercise}")
                if grade.manual_score is not None or comment.manual_comment:
                    teachers.append(f"{student} {row.exercise}")
            book.db.commit()
    said = [f"nbgrader's gradebook has the scores of {len(rows) - len(ungraded)} answers"]
    if ungraded:
        said.append(
            f"{len(ungraded)} could not be graded, for you to settle: {', '.join(ungraded)}"
        )
    if teachers:
        said.append(f"what you entered in formgrader still counts for {', '.join(teachers)}")
    return "; ".join(said)


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


def _judged(row: Row, course: Course) -> tuple[float | None, str]:
    """The points, None if the answer could not be graded; and the verdict as text that can't start
    an HTML tag.
    """
    points, comment = course.override(row.student, row.exercise)
    lead = {"right": "Right.", "not attempted": "Not attempted yet."}.get(
        row.outcome, f"{row.outcome.capitalize()}:"
    )
    lines = (
        comment,
        f"{points:g} points, given by your teacher." if points is not None else "",
        f"{lead} {row.because}".strip(),
        f"Measured: {' · '.join(row.figures)}" if row.figures else "",
    )
    if points is None and row.outcome != "not graded":
        points = course.worth(row.exercise) * row.share
    return points, re.sub(r"<(?=[A-Za-z/!?])", "< ", "\n\n".join(filter(None, lines)))


def _settings(folder: Path) -> Any:
    """nbgrader as it would start in this course, with every settings file that it would read.
    Raises NotReady if these would let it run students' code, lack another line of ours, or lead to
    another folder.
    """
    if not find_spec("nbgrader"):
        raise NotReady(
            "nbgrader is not installed; `make class NBGRADER=…` and `make grade NBGRADER=…` "
            "install it"
        )
    from nbconvert.preprocessors.sanitize import SanitizeHTML
    from nbgrader.apps.baseapp import NbGrader
    from nbgrader.converters import Autograde
    from nbgrader.preprocessors import ClearSolutions, Execute, SaveAutoGrades

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
    steps = Autograde(coursedir=app.coursedir, parent=app).sanitize_preprocessors
    in_force = {
        "c.Execute.": not Execute(parent=app).enabled,
        "c.SaveAutoGrades.": not SaveAutoGrades(parent=app).enabled,
        "c.Autograde.": any("SanitizeHTML" in str(step) for step in steps),
        "c.SanitizeHTML.": SanitizeHTML(parent=app).enabled,
        "c.ClearSolutions.": ClearSolutions(parent=app).code_stub.get("python") == "",
    }
    wanted = (TEMPLATES / CONFIG).read_text(encoding="utf-8").splitlines()
    missing = tuple(start for start, is_in_force in in_force.items() if not is_in_force)
    if lines := [line for line in wanted if line.startswith(missing)]:
        why = "nbgrader would run students' code with your rights, or change their notebooks"
        raise NotReady(
            "\n  ".join(
                [f"With its settings for {folder}, {why}. Add to {folder / CONFIG}:", *lines]
            )
        )
    return app


def _submitted(app: Any, student: str, lesson: str) -> Path:
    return Path(
        app.coursedir.format_path(app.coursedir.submitted_directory, student, assignment(lesson))
    )


@contextmanager
def _gradebook(app: Any) -> Iterator[Any]:
    from nbgrader import api
    from sqlalchemy.exc import SQLAlchemyError

    url = app.coursedir.db_url
    if url.startswith("sqlite:///") and not Path(url.removeprefix("sqlite:///")).exists():
        raise NotReady(
            f"there is no gradebook {url}; run `nbgrader generate_assignment` for each lesson first"
        )
    try:
        with api.Gradebook(url, app.coursedir.course_id) as book:
            for kind in (
                api.Student,
                api.SubmittedAssignment,
                api.SubmittedNotebook,
                api.Grade,
                api.Comment,
            ):
                book.db.query(
                    kind
                ).first()  # fails on a gradebook of another form, before anything is written
            yield book
    except (SQLAlchemyError, api.InvalidEntry, api.MissingEntry) as error:
        reason = str(getattr(error, "orig", error))
        remedy = "Nothing is lost: fix that, and grade again"
        if "no such" in reason or "has no column" in reason:
            remedy = (
                "Another version of nbgrader made it: make a copy of it, then run `nbgrader db "
                "upgrade`"
            )
        elif "locked" in reason:
            remedy = (
                "Another program is writing to it (formgrader, nbgrader): end that, and try again; "
                "nothing is lost"
            )
        raise NotReady(f"the gradebook {url} cannot be written to: {reason}. {remedy}") from error


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
