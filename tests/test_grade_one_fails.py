"""Whatever fails for one student, at any step of `make grade`, is that student's line; all others
get theirs. What fails for everybody ends it.
"""

import csv
import errno
import html
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_judge import notebook

from helpers.classroom import grade, outputs, report, submissions
from helpers.classroom.grade import Submission
from helpers.classroom.platforms import moodle
from helpers.folders import NOTEBOOKS
from helpers.wall import charts

pytestmark = pytest.mark.slow

(LESSON,) = NOTEBOOKS.glob("02_*.ipynb")
STUDENTS = [
    f"{name}_{number}_assignsubmission_file_"
    for number, name in enumerate(("ada", "bob", "cy", "di", "ed", "eve"), 1)
]
VICTIM = "6"
OTHERS = {"1", "2", "3", "4", "5"}  # by Moodle's numbers: eve, and the rest
MARK = 13.0  # eve's prediction


@pytest.fixture
def collected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What six students handed in, with predictions; no answer is judged."""
    for name in STUDENTS:
        (folder := tmp_path / "class" / name).mkdir(parents=True)
        (folder / LESSON.name).write_bytes(notebook(f"x = '{name}'"))
        predicted = {
            "02.three": {"slurp": MARK if name == STUDENTS[-1] else 1.0},
            "02.chunk": "1 MiB",
        }
        (folder / "predictions.json").write_text(json.dumps(predicted))

    def ask(
        judges: Any, notebook: bytes, commit: str, exercises: list[str], put: Callable[..., None]
    ) -> str:
        for name in list(exercises):
            put(name, outcome="right", because="It is.")
        return ""

    monkeypatch.setattr(grade._Judges, "_ask", ask)
    return tmp_path / "class"


def is_victim(thing: Any) -> bool:
    """Is it about eve? Looks into all that steps are called with."""
    if isinstance(thing, list | tuple):
        return any(map(is_victim, thing))
    return "eve_6_" in str(thing) or getattr(getattr(thing, "student", None), "key", "") == VICTIM


STEPS = {  # of a batch: where it fails, and for whom
    "reading a folder": (submissions, "_in_entry", is_victim),
    "reading a notebook": (submissions, "_read", is_victim),
    "its time": (submissions, "_when", is_victim),
    "reading it again": (Submission, "notebook", is_victim),
    "judging": (grade._Judges, "_ask", is_victim),
    "Moodle's comments": (moodle, "_comments", is_victim),
    "the points": (moodle, "points", is_victim),
    "the feedback page": (outputs, "feedback", is_victim),
    "the name of that page": (outputs, "file_name", lambda called: called[1] == VICTIM),
    "the report": (report, "mistakes", is_victim),
    "the report's lessons": (report, "_lesson", lambda called: is_victim(called[1])),
    "a prediction": (charts, "_is_number", lambda called: called[0] == MARK),
}


def failing(monkeypatch: pytest.MonkeyPatch, step: str, error: BaseException) -> None:
    module, name, applies = STEPS[step]
    real = getattr(module, name)

    def instead(*called: Any, **more: Any) -> Any:
        if applies([*called, *more.values()]):
            raise error
        return real(*called, **more)

    monkeypatch.setattr(module, name, instead)


def lines(out: Path) -> dict[tuple[str, str], dict[str, str]]:
    with open(out / "gradebook.csv", encoding="utf-8-sig", newline="") as file:
        return {(row["student"], row["exercise"]): row for row in csv.DictReader(file)}


@pytest.mark.parametrize("step", STEPS)
def test_what_fails_for_one_student_is_that_students_line(
    collected: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
    step: str,
):
    out = tmp_path / "out"
    with monkeypatch.context() as here:
        failing(here, step, ZeroDivisionError("no such luck"))
        grade.grade(collected, out, trusted=True)
    found = lines(out)
    assert {student for student, _ in found} == {*OTHERS, VICTIM}
    assert {row["outcome"] for (student, _), row in found.items() if student in OTHERS} == {"right"}
    hers = [
        row
        for (student, _), row in found.items()
        if student == VICTIM and row["outcome"] == "not graded"
    ]
    told = (
        (out / "report.html").read_text()
        if step == "a prediction"
        else str(hers) + capsys.readouterr().out
    )
    assert (
        "the grader can't deal with it: it raised ZeroDivisionError: no such luck"
        in html.unescape(told)
    )
    with open(out / "moodle" / "02.csv", newline="") as file:
        assert {row["Identifier"].split()[1] for row in csv.DictReader(file)} >= OTHERS
    with zipfile.ZipFile(out / "moodle" / "02-feedback.zip") as archive:
        assert len(archive.namelist()) >= len(OTHERS)
    assert len([*(out / "feedback").iterdir()]) >= len(OTHERS)
    grade.grade(collected, out, trusted=True)
    # nothing of that stays
    assert {row["outcome"] for row in lines(out).values() if row["exercise"]} == {"right"}


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), MemoryError()]
)
@pytest.mark.parametrize("step", STEPS)
def test_what_fails_for_everybody_is_not_one_students(
    collected: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    error: BaseException,
):
    failing(monkeypatch, step, error)
    with pytest.raises(type(error)):
        grade.grade(collected, tmp_path / "out", trusted=True)


# --- numbers that are hard to draw ----------------------------------------------------------------
def test_a_class_that_predicts_almost_nothing_is_graded(collected: Path, tmp_path: Path):
    for folder in collected.iterdir():
        (folder / "predictions.json").write_text('{"05.pays": {"64 B": 5e-324, "4 MiB": 5e-324}}')
        (folder / LESSON.name).rename(folder / "05_x.ipynb")
    grade.grade(collected, tmp_path / "out", trusted=True)
    assert "(05.pays)" in (tmp_path / "out" / "report.html").read_text()
