"""A course in the real nbgrader: it takes our source, shows and exports our scores, and runs no
code of a student's.
"""

import csv
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from helpers.classroom.course import Course
from helpers.classroom.course_of_nbgrader import NotReady, make_source
from helpers.classroom.grades import grades as graded
from helpers.classroom.platforms.nbgrader import write
from helpers.classroom.store import Answer, HandIn, Student, Verdict, store
from helpers.edition import edition
from helpers.folders import NOTEBOOKS
from helpers.teach import exercise

pytest.importorskip(
    "nbgrader",
    reason="nbgrader is not installed; `make test-class` installs it, and runs these tests",
)

LESSON = "02_copy_a_big_file"
COURSE = Course(points={"02.chunks": 20.0})  # the other two are worth 10
VERDICTS = {
    "right": "The copy equals its source.",
    "not yet": "it raised `ValueError: <script>alert(1)</script>`",
    "not graded": "the notebook is not JSON",
    "not attempted": "Fill in `copy_small` and run the cell again.",
}


def answer(student: str, name: str, outcome: str, **more: object) -> Answer:
    figures = ("1.1 MiB",) if outcome == "right" else ()
    came = {"system": "nbgrader", "place": student, "when": "2026-11-21T10:00:00.5+00:00"}
    verdict = Verdict(outcome, VERDICTS[outcome], figures=figures, **more)
    # by the class list, the student has another key than in nbgrader
    who = Student(f"key of {student}", student)
    return Answer(who, f"02.{name}", HandIn("02", "f", **came), verdict)


ROWS = [
    answer("ada", "chunks", "right"),
    answer("ada", "hidden", "right"),
    answer("ada", "report", "right"),
    answer("bob", "chunks", "right"),
    answer("bob", "hidden", "not yet"),
    answer("bob", "report", "not graded"),
    answer("eve", "chunks", "not attempted"),
    answer("eve", "hidden", "not attempted"),
    answer("eve", "report", "not yet", half="the bytes"),
]
MARK = "eve-was-here"
GONE = answer("zoe", "chunks", "right")  # from submitted/


def nbgrader(folder: Path, *commands: str) -> None:
    """Runs the commands as in an activated environment, because nbgrader calls alembic."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for command in commands:
        ran = subprocess.run(
            [sys.executable, "-m", "nbgrader", *command.split()],
            cwd=folder,
            env=os.environ | {"PATH": path},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert ran.returncode == 0, ran.stdout


def cells(notebook: Path) -> dict[str, dict]:
    return {cell["id"]: cell for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]}


def grades(folder: Path) -> dict[tuple[str, str], tuple]:
    """(check's score, teacher's score, check's words, teacher's words, waiting for the teacher?) of
    each answer.
    """
    with closing(sqlite3.connect(folder / "gradebook.db")) as book:
        found = book.execute(
            """select student_id, cell.name, auto_score, manual_score, auto_comment, manual_comment,
            needs_manual_grade
            from grade join submitted_notebook as n on n.id = grade.notebook_id
            join submitted_assignment as a on a.id = n.assignment_id
            join base_cell as cell on cell.id = grade.cell_id
            join comment on comment.notebook_id = n.id
            join base_cell as other on other.id = comment.cell_id and other.name = cell.name"""
        )
        return {(student, name): (*rest, bool(waits)) for student, name, *rest, waits in found}


def types(folder: Path, student: str, name: str, score: float | None, words: str | None) -> None:
    """What formgrader does when a teacher types a score or a comment."""
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}") as book:
        book.find_grade(name, LESSON, LESSON, student).manual_score = score
        book.find_grade(name, LESSON, LESSON, student).needs_manual_grade = False
        book.find_comment(name, LESSON, LESSON, student).manual_comment = words
        book.db.commit()


SCORES = "nbgrader's gradebook has the scores of {} answers"
UNGRADED = "1 could not be graded, for you to settle: bob 02.report"


def puts(folder: Path, rows: list[Answer] = ROWS, course: Course = COURSE) -> str:
    with store(folder / "grades") as known:
        known.keep(*rows, GONE)
        return write(graded(known.all(), course), course, folder)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lesson 02 is released, and three students have handed in. Eve's answers, if they run, leave a
    mark.
    """
    folder = tmp_path_factory.mktemp("nbgrader") / "course"
    make_source(folder, [NOTEBOOKS / f"{LESSON}.ipynb"], COURSE)
    nbgrader(folder, f"generate_assignment {LESSON}")
    notebook = json.loads(
        (folder / "release" / LESSON / f"{LESSON}.ipynb").read_text(encoding="utf-8")
    )
    title, *_ = notebook["cells"]
    notebook["cells"] = [
        title,
        *(cell for cell in notebook["cells"] if "nbgrader" in cell["metadata"]),
    ]
    for student in ("ada", "bob", "eve"):
        submitted = folder / "submitted" / student / LESSON
        submitted.mkdir(parents=True)
        (submitted / "timestamp.txt").write_text("2026-11-21 10:00:00.5 UTC\n")
        (submitted / f"{LESSON}.ipynb").write_text(json.dumps(notebook))
    marks = {
        "code": f"open({str(folder / MARK)!r}, 'w')\n",
        "markdown": "<script>alert(2)</script>\n",
    }
    for cell in notebook["cells"]:
        cell["source"] = marks[cell["cell_type"]] + "".join(cell["source"])
    (submitted / f"{LESSON}.ipynb").write_text(json.dumps(notebook))
    return folder


@pytest.fixture
def course(released: Path, tmp_path: Path) -> Path:
    return shutil.copytree(released, tmp_path / "course")


def test_source_is_released_with_each_starter_as_it_stands(released: Path):
    release = released / "release" / LESSON / f"{LESSON}.ipynb"
    ours = cells(NOTEBOOKS / f"{LESSON}.ipynb")
    theirs = cells(release)
    assert {name: "".join(cell["source"]) for name, cell in ours.items()} == {
        name: "".join(cell["source"]).removesuffix("\n") for name, cell in theirs.items()
    }
    marked = {
        name: cell["metadata"]["nbgrader"]
        for name, cell in theirs.items()
        if "nbgrader" in cell["metadata"]
    }
    assert {name: (mark["grade_id"], mark["points"]) for name, mark in marked.items()} == {
        "copy-hidden-try": ("02-hidden", 10.0),
        "copy-chunks-try": ("02-chunks", 20.0),
        "copy-report-try": ("02-report", 10.0),
    }
    assert all(theirs[name]["metadata"].get("editable", True) for name in marked)
    stamp = json.loads(release.read_text(encoding="utf-8"))["metadata"]["zero_copy"]
    assert stamp == {"edition": str(edition()), "commit": edition().commit}


def test_scores_are_exported_and_outlive_autograde_which_runs_nothing(released: Path, course: Path):
    assert puts(course) == f"{SCORES.format(8)}; {UNGRADED}"
    before = grades(course)
    nbgrader(course, f"autograde {LESSON}", f"generate_feedback {LESSON}", "export")
    assert not (released / MARK).exists()
    assert grades(course) == before
    words = "Right. The copy equals its source.\n\nMeasured: 1.1 MiB"
    assert before["ada", "02-chunks"] == (20.0, None, words, None, False)
    assert before["bob", "02-report"] == (
        None,
        None,
        "Not graded: the notebook is not JSON",
        None,
        True,
    )
    assert before["eve", "02-chunks"][0] == 0.0

    with (course / "grades.csv").open() as file:
        exported = {row["student_id"]: row for row in csv.DictReader(file)}
    assert {name: (row["score"], row["max_score"]) for name, row in exported.items()} == {
        "ada": ("40.0", "40.0"),
        "bob": ("20.0", "40.0"),
        "eve": ("5.0", "40.0"),  # half of 02.report
    }
    times = {datetime.fromisoformat(row["timestamp"]) for row in exported.values()}
    assert times == {datetime(2026, 11, 21, 10, 0, 0, 500_000)}

    for student in ("ada", "bob", "eve"):
        page = (course / "feedback" / student / LESSON / f"{LESSON}.html").read_text(
            encoding="utf-8"
        )
        assert not re.search(r"<script>alert", page)
        assert ("Measured: 1.1 MiB" in page) == (student != "eve")


def test_what_a_teacher_says_in_formgrader_counts_before_the_check(course: Path):
    puts(course)
    types(course, "bob", "02-hidden", 7.0, "Nearly.")
    types(course, "bob", "02-report", 9.0, None)  # this one couldn't be graded
    types(course, "ada", "02-report", None, "Well done!")
    kept = (
        "what you entered in formgrader still counts for ada 02.report, bob 02.hidden, bob "
        "02.report"
    )
    assert puts(course) == f"{SCORES.format(8)}; {UNGRADED}; {kept}"
    found = grades(course)
    words = "Not yet: it raised `ValueError: < script>alert(1)< /script>`"
    assert found["bob", "02-hidden"] == (0.0, 7.0, words, "Nearly.", False)
    assert found["bob", "02-report"][:2] + found["bob", "02-report"][4:] == (None, 9.0, False)

    right = [replace(row, verdict=Verdict("right", "")) for row in ROWS]
    assert puts(course, right) == f"{SCORES.format(9)}; {kept}"
    found = grades(course)
    assert found["bob", "02-hidden"] == (
        10.0,
        7.0,
        "Right.",
        "Nearly.",
        True,
    ), "the verdict is another one: look again"
    types(course, "bob", "02-hidden", 7.0, "Nearly.")
    puts(course, right)
    assert found["ada", "02-report"] == grades(course)["ada", "02-report"]
    assert grades(course)["bob", "02-hidden"][4] is False, "and nothing has changed since"


def test_an_override_counts_before_the_check(course: Path):
    overrides = {
        ("key of bob", "02.report"): (6.0, "Cut short."),
        ("key of ada", "02.hidden"): (0.0, ""),
        ("key of eve", "02.hidden"): (None, "Ask me."),
    }
    assert puts(course, course=replace(COURSE, overrides=overrides)) == SCORES.format(9)
    found = grades(course)
    assert found["bob", "02-report"][0] == 6.0
    assert not found["bob", "02-report"][4]
    assert found["bob", "02-report"][2].startswith("Cut short.\n\n6 points, given by your teacher.")
    assert found["ada", "02-hidden"][0] == 0.0
    assert found["eve", "02-hidden"][::2] == (
        0.0,
        f"Ask me.\n\nNot attempted yet. {VERDICTS['not attempted']}",
        False,
    )


def refused(folder: Path, words: str, course: Course = COURSE) -> None:
    """Asserts that nothing is put, that the error says why, and that the gradebook, if any, is
    unchanged.
    """
    book = folder / "gradebook.db"
    before = book.exists() and book.read_bytes()
    with pytest.raises(NotReady, match=words):
        puts(folder, course=course)
    assert (book.exists() and book.read_bytes()) == before


def test_what_is_not_ready_is_named(course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    refused(tmp_path, "is not an nbgrader course: it has no nbgrader_config.py")
    refused(
        course,
        "02.chunks is worth 5 points in class.toml, 20 in",
        Course(points={"02.chunks": 5.0}),
    )
    with closing(sqlite3.connect(course / "gradebook.db")) as other:
        other.execute("begin exclusive")
        refused(course, "database is locked")
    for change, words in (
        (
            "update base_cell set name = '02-copy' where name = '02-chunks'",
            "the gradebook has no 02.chunks",
        ),
        (
            "alter table grade rename column auto_score to score",
            "another version of nbgrader made it",
        ),
    ):
        with closing(sqlite3.connect(course / "gradebook.db")) as book:
            book.execute(change)
            book.commit()
        refused(course, words)
    (course / "gradebook.db").unlink()
    refused(course, "there is no gradebook .*run `nbgrader generate_assignment`")
    (course / "gradebook.db").write_text("not a database at all")
    refused(course, "file is not a database")
    monkeypatch.setitem(sys.modules, "nbgrader", None)
    refused(course, "nbgrader is not installed")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            "",
            (
                r"run students' code(.|\n)*c.Execute.enabled ="
                r" False\n(.|\n)*c.ClearSolutions.code_stub"
            ),
        ),
        (
            "c.Autograde.sanitize_preprocessors = []",
            r"c.Autograde.sanitize_preprocessors.append\(",
        ),
        (
            "c.CourseDirectory.root = '/srv/other'",
            "put the course of .* into /srv/other; use NBGRADER=/srv/other",
        ),
    ],
)
def test_settings_that_would_run_students_code_are_refused(course: Path, settings: str, words: str):
    ours = (course / "nbgrader_config.py").read_text()
    (course / "nbgrader_config.py").write_text(
        f"{ours}\n{settings}\n" if settings else "c = get_config()\n"
    )
    refused(course, words)
    with pytest.raises(NotReady, match=words):
        make_source(course, [], COURSE)


def test_a_source_that_a_teacher_changed_is_not_written_over(course: Path):
    lesson = NOTEBOOKS / f"{LESSON}.ipynb"
    source = course / "source" / LESSON / f"{LESSON}.ipynb"
    as_it_was = source.read_bytes()
    with pytest.raises(NotReady, match=r"It may be your work: move the folder .* away"):
        make_source(course, [lesson], Course())  # 02.chunks has different points here
    assert source.read_bytes() == as_it_was
    shutil.rmtree(source.parent)
    make_source(course, [lesson], Course())
    assert cells(source)["copy-chunks-try"]["metadata"]["nbgrader"]["points"] == 10.0


def test_a_lesson_with_an_answer_in_it_is_not_handed_out(tmp_path: Path):
    chunks = exercise("02.chunks")
    notebook = json.loads((NOTEBOOKS / f"{LESSON}.ipynb").read_text(encoding="utf-8"))
    (starter,) = (cell for cell in notebook["cells"] if cell["id"] == "copy-chunks-try")
    starter["source"] = chunks.cell.replace(
        chunks.starter.rstrip(), chunks.solution_source.rstrip()
    )
    (tmp_path / f"{LESSON}.ipynb").write_text(json.dumps(notebook))
    with pytest.raises(NotReady, match=r"the cell of 02\.chunks is not its starter"):
        make_source(tmp_path / "course", [tmp_path / f"{LESSON}.ipynb"], COURSE)
    assert not list(tmp_path.rglob("source"))
