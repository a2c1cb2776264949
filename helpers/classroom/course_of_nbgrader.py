"""A course that nbgrader keeps: its source/ written from the lessons, its gradebook filled with our verdicts.

nbgrader hands out, collects, shows and exports; it runs nothing of a student's, see template/nbgrader_config.py. What
the check says is written where nbgrader's own tests would have written it (auto_score, auto_comment). What a teacher
types in formgrader has a place of its own (manual_score, manual_comment), is never touched, and counts first.

nbgrader is needed by the functions only: the module can be imported without it.
"""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm.auto import tqdm

from ..edition import edition
from ..folders import NOTEBOOKS, write_whole
from ..publish.starters import asked
from ..teach import exercise
from ..whole import regular_file
from .course import TEMPLATES, Course
from .store import Row, Store

if TYPE_CHECKING:
    from nbgrader.api import Comment, Grade, Gradebook
    from nbgrader.apps.baseapp import NbGrader

CONFIG = "nbgrader_config.py"
# nbgrader clears a cell that is marked as an answer, unless a part of it is: the part between these lines.
NOTHING_TO_CLEAR = "\n# BEGIN SOLUTION: none. These two lines keep nbgrader from clearing the starter.\n# END SOLUTION"


class NotReady(RuntimeError):
    """nbgrader, or the course that it keeps, is not as it must be: what was found, and what to do."""


@dataclass(frozen=True)
class Put:
    """What was written to a gradebook.

    scores    how many answers now have the check's score
    ungraded  answers that could not be graded: nbgrader shows them as in need of a manual grade
    teachers  answers whose score or comment a teacher typed in formgrader, which counts before the check's
    """

    scores: int = 0
    ungraded: tuple[str, ...] = ()
    teachers: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [f"nbgrader's gradebook has the scores of {self.scores} answers"]
        if self.ungraded:
            parts.append(f"{len(self.ungraded)} could not be graded and wait for you: {', '.join(self.ungraded)}")
        if self.teachers:
            parts.append(f"what you said in formgrader still counts for {', '.join(self.teachers)}")
        return "; ".join(parts)


def make_source(folder: Path, lessons: Iterable[Path], course: Course) -> list[Path]:
    """Writes source/02_copy_a_big_file/02_copy_a_big_file.ipynb for each of these lessons, and nbgrader_config.py if
    there is none. Returns the notebooks. Each exercise's cell is an answer that is worth the course's points.

    NotReady, and no notebook is written, if another one is there already, if an exercise's cell is not its starter, or
    if the settings that are there would let nbgrader run students' code.
    """
    _nbgrader()
    if not (folder / CONFIG).exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / CONFIG, (TEMPLATES / CONFIG).read_bytes())
    at = _settings(folder).coursedir
    texts = {}
    for lesson in lessons:
        path = Path(at.format_path(at.source_directory, ".", lesson.stem), lesson.name)
        texts[path] = _marked(lesson, course)
        if path.exists() and path.read_text(encoding="utf-8") != texts[path]:
            raise NotReady(
                f"{path} is there, and is not what this edition and class.toml would make of it. It may be your work: "
                f"move the folder {path.parent} away, or delete it, to have it made anew"
            )
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    return list(texts)


def put_scores(folder: Path, known: Store, course: Course) -> Put:
    """Writes score and verdict of every answer that was handed in below submitted/ to the course's gradebook.

    A run that follows writes the same again. An answer that could not be graded is left for the teacher ("needs manual
    grading"), and so is a score that a teacher typed when the check's has changed since. NotReady, before anything is
    written, says what the gradebook lacks.
    """
    app = _settings(folder)
    rows = [row for row in known.rows() if _submitted(app, row.student, row.lesson).is_dir()]
    ungraded, teachers = [], []
    with _gradebook(app) as book:
        for key in sorted({row.exercise for row in rows}):
            _check_cell(book, key, course)
        each = [(at, list(answers)) for at, answers in groupby(rows, key=lambda row: (row.student, row.lesson))]
        for (student, lesson), answers in tqdm(each, desc="to the gradebook", unit="submission", delay=2, leave=False):
            name = assignment(lesson)
            when = _when(_submitted(app, student, lesson))
            book.update_or_create_student(student)
            with book.db.no_autoflush:  # which warns of what nbgrader does there
                book.update_or_create_submission(name, student, **({"timestamp": when} if when else {}))
            for row in answers:
                at = grade_id(row.exercise), name, name, student
                grade, comment = book.find_grade(*at), book.find_comment(*at)
                _put(grade, comment, *_judged(row, course))
                if grade.auto_score is None:
                    ungraded.append(f"{student} {row.exercise}")
                if grade.manual_score is not None or comment.manual_comment:
                    teachers.append(f"{student} {row.exercise}")
            book.db.commit()
    return Put(len(rows) - len(ungraded), tuple(ungraded), tuple(teachers))


def assignment(lesson: str) -> str:
    """What nbgrader calls a lesson, and its only notebook: "02" is "02_copy_a_big_file"."""
    return next(NOTEBOOKS.glob(f"{lesson}_*.ipynb")).stem


def grade_id(key: str) -> str:
    """What nbgrader, which allows no dot there, calls an exercise: "02.chunks" is "02-chunks"."""
    return key.replace(".", "-")


def _marked(lesson: Path, course: Course) -> str:
    notebook = json.loads(lesson.read_text(encoding="utf-8"))
    notebook["metadata"].setdefault("zero_copy", {"edition": str(edition()), "commit": edition().commit})
    for cell in notebook["cells"]:
        if not (key := asked(cell)):
            continue
        if "".join(cell["source"]) != exercise(key).cell:
            raise NotReady(f"{lesson}: the cell of {key} is not its starter; students would get what stands there")
        cell["source"] = (exercise(key).cell + NOTHING_TO_CLEAR).splitlines(keepends=True)
        cell["metadata"]["nbgrader"] = {
            "schema_version": 3,
            "grade_id": grade_id(key),
            "grade": True,
            "solution": True,
            "locked": False,
            "points": course.worth(key),
        }
    return json.dumps(notebook, sort_keys=True, indent=1, ensure_ascii=False) + "\n"


def _put(grade: "Grade", comment: "Comment", score: float | None, words: str) -> None:
    """Writes one verdict. What a teacher typed stays; nbgrader asks for another look if the score below it changed."""
    if grade.manual_score is None:
        grade.needs_manual_grade = score is None
    elif grade.auto_score != score:
        grade.needs_manual_grade = True
    grade.auto_score, comment.auto_comment = score, words


def _judged(row: Row, course: Course) -> tuple[float | None, str]:
    """Points, None if the answer could not be graded; and the verdict in words, in which no HTML begins."""
    score = {"right": course.worth(row.exercise), "not graded": None}.get(row.outcome, 0.0)
    lead = {"right": "Right.", "not attempted": "Not attempted yet."}.get(row.outcome, f"{row.outcome.capitalize()}:")
    said = [f"{lead} {row.because}".strip()]
    if row.figures:
        said.append(f"Measured: {' · '.join(row.figures)}")
    over = course.override(row.student, row.exercise)
    if over and over.points is not None:
        score = over.points
        said.insert(0, f"{score:g} points, given by your teacher.")
    if over and over.comment:
        said.insert(0, over.comment)
    return score, re.sub(r"<(?=[A-Za-z/!?])", "< ", "\n\n".join(said))


# --- nbgrader itself ----------------------------------------------------------------------------------------
def _nbgrader() -> None:
    try:
        import nbgrader  # noqa: F401
    except ImportError:
        raise NotReady(
            "nbgrader is not installed here; `make class NBGRADER=…` and `make grade NBGRADER=…` install it first"
        ) from None


def _settings(folder: Path) -> "NbGrader":
    """nbgrader as it would start in this course, with every settings file that it would read. NotReady if these let it
    run students' code, lack another of our lines, or lead elsewhere."""
    _nbgrader()
    from nbconvert.preprocessors.sanitize import SanitizeHTML
    from nbgrader.apps.baseapp import NbGrader
    from nbgrader.converters import Autograde
    from nbgrader.preprocessors import ClearSolutions, Execute, SaveAutoGrades

    if not (folder / CONFIG).exists():
        raise NotReady(f"{folder} is no course of nbgrader: there is no {CONFIG}. `make class NBGRADER=…` makes one")
    app = NbGrader(log_level="ERROR")
    app.load_cwd_config = False
    app.initialize([], root=str(folder.resolve()))
    if (root := Path(app.coursedir.root).resolve()) != folder.resolve():
        raise NotReady(f"nbgrader's settings put the course of {folder} into {root}; NBGRADER={root} would be right")
    steps = Autograde(coursedir=app.coursedir, parent=app).sanitize_preprocessors
    kept = {
        "c.Execute.": not Execute(parent=app).enabled,
        "c.SaveAutoGrades.": not SaveAutoGrades(parent=app).enabled,
        "c.Autograde.": any("SanitizeHTML" in str(step) for step in steps),
        "c.SanitizeHTML.": SanitizeHTML(parent=app).enabled,
        "c.ClearSolutions.": ClearSolutions(parent=app).code_stub.get("python") == "",
    }
    ours = (TEMPLATES / CONFIG).read_text(encoding="utf-8").splitlines()
    if lines := [line for line in ours for start, is_kept in kept.items() if line.startswith(start) and not is_kept]:
        raise NotReady(
            f"With its settings for {folder}, nbgrader would run students' code with your rights, or change their "
            f"notebooks. Add to {folder / CONFIG}:\n  " + "\n  ".join(lines)
        )
    return app


def _submitted(app: "NbGrader", student: str, lesson: str) -> Path:
    return Path(app.coursedir.format_path(app.coursedir.submitted_directory, student, assignment(lesson)))


def _when(submitted: Path) -> datetime | None:
    """When it was handed in, as nbgrader reads it; None if a student has written something else there."""
    from nbgrader.utils import parse_utc

    with suppress(OSError, ValueError, OverflowError), regular_file(submitted / "timestamp.txt") as file:
        return parse_utc(file.read(100).decode().strip())
    return None


@contextmanager
def _gradebook(app: "NbGrader") -> Iterator["Gradebook"]:
    from nbgrader import api
    from sqlalchemy.exc import SQLAlchemyError

    url = app.coursedir.db_url
    if url.startswith("sqlite:///") and not Path(url.removeprefix("sqlite:///")).exists():
        raise NotReady(f"there is no gradebook {url}; run `nbgrader generate_assignment` for each lesson first")
    try:
        with api.Gradebook(url, app.coursedir.course_id) as book:
            for kind in (api.Student, api.SubmittedAssignment, api.SubmittedNotebook, api.Grade, api.Comment):
                book.db.query(kind).first()  # which fails on a gradebook of another form, before anything is written
            yield book
    except (SQLAlchemyError, api.InvalidEntry, api.MissingEntry) as error:
        why = str(getattr(error, "orig", error))
        raise NotReady(f"the gradebook {url} cannot be written to: {why}. {_remedy(why)}") from error


def _remedy(why: str) -> str:
    if "no such" in why or "has no column" in why:
        return "It was made by another version of nbgrader: make a copy of it, then run `nbgrader db upgrade`"
    if "locked" in why:
        return "Another program is writing to it (formgrader, nbgrader): end that, and try again; nothing is lost"
    return "Nothing is lost: mend that, and grade again"


def _check_cell(book: "Gradebook", key: str, course: Course) -> None:
    from nbgrader.api import MissingEntry

    name = assignment(key.partition(".")[0])
    try:
        cell = book.find_grade_cell(grade_id(key), name, name)
    except MissingEntry as error:
        raise NotReady(
            f"the gradebook knows nothing of {key} ({error}); `make class NBGRADER=…`, then "
            f"`nbgrader generate_assignment {name} --force` in the course's folder"
        ) from None
    if cell.max_score != course.worth(key):
        raise NotReady(
            f"{key} is worth {course.worth(key):g} points in class.toml, {cell.max_score:g} in the gradebook. Delete "
            f"source/{name}, `make class NBGRADER=…`, then `nbgrader generate_assignment {name} --force`"
        )
