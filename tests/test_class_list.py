"""One class list for all lessons: who is on it, whose a hand-in is by it, and each student's points
in all lessons.
"""

import csv
from pathlib import Path
from typing import Any

import pytest
from test_submissions import LESSON, as_folder, as_zip, notebook

from helpers.classroom import grade
from helpers.classroom.class_list import LIST, class_list
from helpers.classroom.course import course

pytestmark = pytest.mark.slow

MOODLE = """\ufeff"First name","Last name","ID number","Email address",Groups
Ada,Lovelace,,ada@example.org,
Bo,"Jr., Sr.",77,bo@example.org,A
"""
CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section,Essay (77)
"    Points Possible",,,,,10
"Lovelace, Ada",501,,ada,A,9
"Student, Test",999,,x,A,
"""
LISTS = {
    "Moodle": (MOODLE, {"ada@example.org": "Ada Lovelace", "77": "Bo Jr., Sr."}),
    "Canvas": (CANVAS, {"501": "Lovelace, Ada"}),
    "a table": ("id;name\n1;Ada\n2;=1+1\n", {"1": "Ada", "2": "=1+1"}),
    "names": ("Ada Lovelace\n\nBo\n", {"Ada Lovelace": "Ada Lovelace", "Bo": "Bo"}),
}


@pytest.mark.parametrize("text, names", LISTS.values(), ids=LISTS)
def test_a_list_is_read_as_it_was_exported(text: str, names: dict[str, str]):
    assert {key: one.name for key, one in class_list(text).items()} == names


@pytest.mark.parametrize(
    "data, why",
    [
        (b"Vorname,Nachname\nAda,X\n", "must name the columns"),
        (b"A\nA\n", "two students 'A'"),
        (b"\xff", "utf-8"),
    ],
)
def test_a_list_that_cannot_be_right_is_named(tmp_path: Path, data: bytes, why: str):
    (tmp_path / LIST).write_bytes(data)
    with pytest.raises(ValueError, match=rf"{LIST}.*{why}"):
        course(tmp_path)


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for grades. Each answer in it is right."""

    def ask(judges: Any, notebook: bytes, commit: str, exercises: list[str], put: Any) -> str:
        for name in list(exercises):
            put(name, outcome="right", because="It is.")
        return ""

    monkeypatch.setattr(grade._Judges, "_ask", ask)
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def totals(out: Path) -> dict[str, list[str]]:
    """Of each student: the points in each lesson, and all points."""
    with open(out / "totals.csv", encoding="utf-8-sig", newline="") as file:
        return {row[1]: row[3:] for row in csv.reader(file)}


def moodle(names: list[str], lesson: str = "02") -> dict[str, bytes]:
    of = {f"{name}_{lesson}{at}_assignsubmission_file": name for at, name in enumerate(names)}
    return {f"{folder}/{lesson}_x.ipynb": notebook(text=name) for folder, name in of.items()}


def test_students_whom_moodle_numbers_anew_are_the_same_in_all_lessons(
    out: Path, capsys: pytest.CaptureFixture
):
    (out / LIST).write_text("name\nAda Lovelace\nBo\nCy\n")
    for lesson, names in (
        ("02", ["Ada Lovelace", "Bo", "Mallory"]),
        ("03", ["bo", "lovelace ada"]),
    ):
        grade.grade(as_zip(out.parent / lesson, moodle(names, lesson)), out, trusted=True)
    assert totals(out) == {
        "name": ["02 (of 30)", "03 (of 30)", "points"],
        "Ada Lovelace": ["30", "30", "60"],
        "Bo": ["30", "30", "60"],
        "Cy": ["missing", "missing", "0"],
        "Mallory": ["30", "missing", "30"],
    }
    assert (
        "Mallory (022), Mallory_022_assignsubmission_file/02_x.ipynb (02)"
        in capsys.readouterr().out
    )
    assert "Participant 031" in (out / "moodle" / "03.csv").read_text()


def test_what_was_graded_under_another_name_becomes_the_students_own(out: Path):
    files = {"ada/" + LESSON: notebook(), "Untitled7.ipynb": notebook("02.chunks")}
    collected = as_zip(out.parent / "class", files)
    grade.grade(collected, out, trusted=True)
    assert totals(out).keys() == {"name", "ada", "Untitled7"}
    (out / LIST).write_text(
        "id,name,email,file\n1,Ada,ada@example.org,\n2,Jo,,02/x.ipynb | Untitled7.ipynb\n"
    )
    grade.grade(collected, out, trusted=True)
    assert totals(out).keys() == {"name", "Ada", "Jo"}
    assert "Untitled7" not in (out / "gradebook.csv").read_text()


def test_no_log_in_is_taken_for_another_s_name_and_no_name_for_two_lines(out: Path):
    (out / LIST).write_text("id,name\nada,Ada Lovelace\n2,1\u2028Mal\n", encoding="utf-8")
    files = {f"submitted/ada-lovelace/copying/{LESSON}": notebook()}
    grade.grade(as_folder(out.parent / "class", files), out, trusted=True)
    assert totals(out).keys() == {"name", "Ada Lovelace", "1 Mal", "ada-lovelace"}


def test_two_hand_ins_under_one_name_are_both_named_and_neither_counts(out: Path):
    (out / LIST).write_text("Ada\nBo\n")
    grade.grade(as_folder(out.parent / "class", moodle(["Ada", "Ada"])), out, trusted=True)
    assert totals(out).keys() == {"name", "Ada", "Bo"}
    assert totals(out)["Ada"][0] == "not graded"
    both = "Ada_020_assignsubmission_file, Ada_021_assignsubmission_file"
    assert (
        f"more than one hand-in has this student's name ({both})"
        in (out / "gradebook.csv").read_text()
    )
