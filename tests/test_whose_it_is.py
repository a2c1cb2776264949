"""Whose a hand-in is: what the teacher or the system named decides, and nothing that a student put
into it or after it. From the folder that was collected to the files that Moodle and Canvas import.
"""

import csv
import io
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_submissions import LESSON, LayOut, all_of, as_folder, as_zip, notebook, zipped

from helpers.classroom.class_list import class_list
from helpers.classroom.course import Course
from helpers.classroom.grades import grades, of_lesson
from helpers.classroom.outputs import gradebook
from helpers.classroom.platforms import canvas, moodle
from helpers.classroom.store import store
from helpers.classroom.submissions import submissions

pytestmark = pytest.mark.slow

HONEST = {"Honest/" + LESSON: notebook("02.chunks", text="honest")}
VICTIM = "Ada Lovelace_8654320_assignsubmission_file_"
# what a student can choose: folders, and the ends of names
FOLDERS = (
    "",
    VICTIM,
    "x_1_assignsubmission_file_",
    "submitted",
    "submitted/x/y",
    "02",
    "lesson 03",
    "Ada Lovelace",
    "a/b",
)
ENDS = (
    "x",
    VICTIM,
    "x_8654321_assignsubmission_file_",
    "_12340_1_x",
    "bo_12341_2_02_x",
    "LATE_1_2_x",
    "submitted",
    " (1)",
)
MOODLE = range(8654320, 8654324)
CANVAS = range(12340, 12344)
NAMES = ("Ada Lovelace", "Bo", "=1+1", "مهدی")
FORMS = {  # how an entry begins, and whose it is
    "{name}_{moodle}_assignsubmission_file_/": "{moodle}",
    "{name}_{moodle}_assignsubmission_file_": "{moodle}",
    "{name}_LATE_{canvas}_{attachment}_": "{canvas}",
    "{name}_{canvas}_{attachment}_": "{canvas}",
    "{name}/": "{name}",
    "02_{name}.zip": "{name}",
    "{name}.zip": "{name}",
    "{name}.ipynb": "{name}",
}


class Entry(NamedTuple):
    key: str  # of the student
    at: str  # what lies in the class's folder
    files: dict[str, bytes]  # with the path
    lessons: set[str]
    mark: str  # in each of its notebooks


@st.composite
def entries(draw: st.DrawFn) -> Entry:
    person = draw(st.integers(0, 3))
    form = draw(st.sampled_from([*FORMS]))
    attachment = draw(st.integers(1, 10**9))
    words = {
        "name": NAMES[person],
        "moodle": MOODLE[person],
        "canvas": CANVAS[person],
        "attachment": attachment,
    }
    start = form.format(**words)
    mark = f"mark {attachment}."
    names = draw(
        st.lists(
            st.tuples(*map(st.sampled_from, (FOLDERS, ("02", "03"), ENDS))), min_size=1, max_size=3
        )
    )
    inside = {
        "/".join(filter(None, [folder, f"{lesson}_{end}.ipynb"])): lesson
        for folder, lesson, end in names
    }
    data = notebook("02.chunks", text=mark)
    if start.endswith("/"):
        return Entry(
            FORMS[form].format(**words),
            start[:-1],
            {start + at: data for at in inside},
            {*inside.values()},
            mark,
        )
    packed = zipped(dict.fromkeys(inside, data))
    at = start
    lessons = {*inside.values()}
    if not start.endswith((".zip", ".ipynb")):
        at = f"{start}02_{names[0][2]}{draw(st.sampled_from(('.zip', '.ipynb')))}"
    if at.endswith(".ipynb"):
        packed = data
        lessons = {"02"}
    return Entry(FORMS[form].format(**words), at, {at: packed}, lessons, mark)


def unique(all_entries: list[Entry]) -> list[Entry]:
    by_place = {entry.at: entry for entry in all_entries}
    return [*{entry.mark: entry for entry in by_place.values()}.values()]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(entries(), min_size=1, max_size=5).map(unique),
    st.sampled_from((as_folder, as_zip)),
    st.booleans(),
)
def test_the_outermost_entry_says_whose_it_is_and_none_is_lost(
    handed_in: list[Entry], lay_out: LayOut, deeper: bool
):
    files = HONEST | {name: data for entry in handed_in for name, data in entry.files.items()}
    with tempfile.TemporaryDirectory() as folder:
        above = "class/" if deeper and lay_out is as_zip else ""
        founds = all_of(
            lay_out(Path(folder) / "class", {above + name: data for name, data in files.items()})
        )
        with store(Path(folder) / "grades") as records:
            for found in founds:
                records.keep(*records.of(found.student, found.hand_in, of_lesson(found.lesson)))
            of_all = grades(records.all(), Course())
        assert {found.student.key for found in founds} == {"Honest"} | {
            entry.key for entry in handed_in
        }
        for found in founds:
            hers = [entry for entry in handed_in if entry.key == found.student.key]
            mine = [one.hand_in for one in founds if one.student.key == found.student.key]
            told = " ".join(" ".join((one.file, *one.others, one.why_not)) for one in mine)
            assert all(entry.at in told for entry in hers)
            if found.student.key != "Honest" and not found.hand_in.why_not:
                (source,) = [
                    entry for entry in handed_in if entry.mark.encode() in found.notebook()
                ]
                assert source in hers
                # no number says that the others are the same student's, so the teacher is told
                if source.key in NAMES:
                    rivals = {
                        lesson for entry in hers if entry is not source for lesson in entry.lessons
                    }
                    assert found.hand_in.lesson not in rivals or any(one.why_not for one in mine)
    assert {row["student"].lstrip("'") for row in rows(gradebook(of_all))} == {
        found.student.key for found in founds
    }
    of_moodle = Counter(
        row["Identifier"]
        for name, data in moodle.write(of_all, Course()).items()
        if name.endswith("csv")
        for row in rows(data)
    )
    assert of_moodle.keys() == {
        f"Participant {entry.key}" for entry in handed_in if entry.key in map(str, MOODLE)
    }
    assert max(of_moodle.values(), default=0) <= 2  # of two lessons
    of_canvas = [row["ID"] for data in canvas.write(of_all).values() for row in rows(data)[1:]]
    assert sorted(of_canvas) == sorted(
        {entry.key for entry in handed_in if entry.key in map(str, CANVAS)}
    )


def rows(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))


RIGHT = notebook("02.chunks", text="right")
WRONG = notebook("02.chunks", text="wrong")
# a class in which Mallory would like to hand in for Ada; its students, and who of them is graded
TAKEN_OVER = {
    "a zip of folders beside zips": (
        {f"02_{name}.zip": zipped({LESSON: RIGHT}) for name in ("ada", "bob")}
        | {"02_mallory.zip": zipped({"ada/" + LESSON: WRONG})},
        {"ada": True, "bob": True, "mallory": True},
    ),
    "Moodle's folder in a zip beside zips": (
        {
            "ada.zip": zipped({LESSON: RIGHT}),
            "mallory.zip": zipped({"ada_1_assignsubmission_file/" + LESSON: WRONG}),
        },
        {"ada": True, "mallory": False},
    ),
    "nbgrader's folder in a folder beside folders": (
        {f"{name}/{LESSON}": RIGHT for name in ("ada", "bob")}
        | {"mallory/ada/" + LESSON: WRONG, "mallory/submitted/x/y/" + LESSON: WRONG},
        {"ada": True, "bob": True, "mallory": False},
    ),
    "Moodle's folder in a folder beside folders": (
        {
            "ada/" + LESSON: RIGHT,
            "mallory/ada/" + LESSON: WRONG,
            f"mallory/{VICTIM}/{LESSON}": WRONG,
        },
        {"ada": True, "mallory": False},
    ),
    "Canvas's files in a folder beside folders": (
        {
            "ada/" + LESSON: RIGHT,
            "mallory/ada_1_2_02_x.ipynb": WRONG,
            "mallory/bob_3_4_02_x.ipynb": WRONG,
        },
        {"ada": True, "mallory": False},
    ),
    "a lesson's folder beside folders": (
        {"ada/" + LESSON: RIGHT, "02 mallory/ada/" + LESSON: WRONG},
        {"ada": True, "02 mallory": False},
    ),
    "zips of one student's by themselves": (
        dict.fromkeys(
            ("02_m.zip", "02_n.zip"),
            zipped({"ada/" + LESSON: WRONG, f"{VICTIM}/{LESSON}": WRONG}),
        ),
        {"m": False, "n": False},
    ),
    "a folder and files of one name": (
        {"ada/" + LESSON: RIGHT, "ada.zip": zipped({LESSON: WRONG}), "bob.ipynb": RIGHT},
        {"ada": False, "bob": True},
    ),
    "one name in two lessons' folders": (
        {"02/ada/" + LESSON: RIGHT, "03/ada/" + LESSON: WRONG, "03/bob/03_x.ipynb": RIGHT},
        {"ada": False, "bob": True},
    ),
}


@pytest.mark.parametrize("lay_out", [as_folder, as_zip])
@pytest.mark.parametrize("trick", TAKEN_OVER)
def test_beside_or_below_a_student_s_nothing_makes_another_student(
    tmp_path: Path, trick: str, lay_out: LayOut
):
    files, students = TAKEN_OVER[trick]
    collected = lay_out(tmp_path / "class", files)
    found = all_of(collected)
    assert {one.student.key: not one.hand_in.why_not for one in found} == students
    by_list = submissions(collected, class_list("ada\nbob").values())
    assert [one.hand_in for one in by_list] == [one.hand_in for one in found]
    for one in found:
        if one.student.key in ("ada", "bob") and not one.hand_in.why_not:
            assert one.notebook() == RIGHT


OF_TWO = {f"{name}/{LESSON}": RIGHT for name in ("ada", "bob")}


@pytest.mark.parametrize("name", ["mal/", "02_mal/", "mal.zip"])
def test_one_by_itself_is_not_split_among_the_names_in_it(tmp_path: Path, name: str):
    files = (
        {name + file: data for file, data in OF_TWO.items()}
        if name[-1] == "/"
        else {name: zipped(OF_TWO)}
    )
    with pytest.raises(
        ValueError, match=f"all that is in it is {name.rstrip('/')}, which looks like several"
    ):
        all_of(as_folder(tmp_path / "class", files))


def test_all_that_a_system_lists_for_one_student_is_one_hand_in(tmp_path: Path):
    files = {
        "Ada_1_assignsubmission_file_/02_a.ipynb": RIGHT,
        "Ada_1_assignsubmission_onlinetext_/onlinetext.html": b"",
        "Bo_2_assignsubmission_file_02_a.ipynb": RIGHT,
        "Bo_2_assignsubmission_file_02_b.ipynb": RIGHT,
        "cy_3_4_02_a.ipynb": RIGHT,
        "cy_3_5_02_a-1.ipynb": RIGHT,
        "submitted/di/02_copy/02_a.ipynb": RIGHT,
        "submitted/di/03_choose/03_a.ipynb": RIGHT,
    }
    found = all_of(as_zip(tmp_path / "class", files))
    assert [
        (one.student.key, one.hand_in.lesson, one.hand_in.why_not, len(one.hand_in.others))
        for one in found
    ] == [
        ("1", "02", "", 0),
        ("2", "02", "", 1),
        ("3", "02", "", 1),
        ("di", "02", "", 0),
        ("di", "03", "", 0),
    ]
