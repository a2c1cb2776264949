"""What students handed in: every layout, as a folder and as a zip, and whatever else may be
there.
"""

import io
import json
import os
import stat
import struct
import tempfile
import tomllib
import tracemalloc
import zipfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest
from tables import each_of

from helpers.classroom import submissions
from helpers.classroom.reading import ASK
from helpers.classroom.submissions import CannotBeGraded, Submission
from helpers.classroom.whose import SEVERAL
from helpers.teach.words import JOINERS, one_line
from helpers.units import MiB

pytestmark = pytest.mark.slow

LESSON = "02_copy_a_big_file.ipynb"
MOODLE = "Ada Lovelace_1234567_assignsubmission_file_"
CANVAS = "lovelaceada_LATE_12345_67890_02_copy_a_big_file.ipynb"
Files = Mapping[str, bytes]
LayOut = Callable[[Path, Files], Path]


def notebook(*keys: str, text: str = "", **metadata: object) -> bytes:
    """A notebook that checks these exercises."""
    sources = [text, *(f'exercise("{key}").check(answer)' for key in keys)]
    cells = [
        {"cell_type": "code", "metadata": {}, "source": [source], "outputs": []}
        for source in sources
    ]
    return json.dumps(
        {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1
    ).encode()


def zipped(files: Files, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return made.getvalue()


def as_folder(at: Path, files: Files) -> Path:
    for name, data in files.items():
        path = at / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if data.strip(b"\0"):
            path.write_bytes(data)
        else:
            path.touch()
            os.truncate(path, len(data))  # it takes no room on the disk
    return at


def as_zip(at: Path, files: Files) -> Path:
    (path := at.with_suffix(".zip")).write_bytes(zipped(files))
    return path


def all_of(collected: Path) -> list[Submission]:
    return list(submissions.submissions(collected))


def only(collected: Path) -> Submission:
    (one,) = submissions.submissions(collected)
    return one


def reasons(collected: Path) -> dict[tuple[str, str], str]:
    """Why each (student, lesson) can't be graded; "" if it can, and the notebook has its digest."""
    why_not = {}
    for one in all_of(collected):
        why_not[one.student.key, one.hand_in.lesson] = one.hand_in.why_not
        if one.hand_in.why_not:
            with pytest.raises(CannotBeGraded):
                one.notebook()
        else:
            assert sha256(one.notebook()).hexdigest() == one.hand_in.digest
    return why_not


# --- layouts --------------------------------------------------------------------------------------
LAYOUTS = {
    "plain": (
        {"Ada Lovelace/" + LESSON: notebook("02.chunks"), "bob/" + LESSON: notebook()},
        ["Ada Lovelace", "bob"],
    ),
    "as hand_in names": (
        {f"02_{name}.zip": zipped({LESSON: notebook()}) for name in ("Ada", "Bo")},
        ["Ada", "Bo"],
    ),
    "a folder for each lesson": (
        {"02/ada/" + LESSON: notebook(), "lesson-03/bob/03_a.ipynb": notebook()},
        ["ada", "bob"],
    ),
    "folders in the student's": (
        {"ada/02/" + LESSON: notebook(), "bob/my/own/03_a.ipynb": notebook()},
        ["ada", "bob"],
    ),
    "Moodle, in groups, and of nobody": (
        {
            f"{name}_assignsubmission_file_/{LESSON}": notebook()
            for name in ("Group A_17", "Default group")
        },
        ["17", "Default group"],
    ),
    "Canvas, anonymous": (
        {
            f"{mark}anon_{name}_67890_{LESSON}": notebook()
            for mark, name in (("", "x1Yz2"), ("LATE_", "Ab3De"))
        },
        ["anon_Ab3De", "anon_x1Yz2"],
    ),
    "nbgrader": (
        {
            "submitted/hacker/copying/timestamp.txt": (
                b"2015-02-02 15:58:23.948203 America/Los_Angeles"
            ),
            "gradebook.db": b"",
            **{f"source/{name}_1_2_x.ipynb": notebook() for name in ("ada", "bo")},
            **{
                f"submitted/{name}/copying/{LESSON}": notebook() for name in ("bitdiddle", "hacker")
            },
            **{
                f"{at}/copying/{LESSON}": notebook(text="x")
                for at in ("source", "release", "autograded/hacker")
            },
        },
        ["bitdiddle", "hacker"],
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_layout_is_recognised_by_its_names(tmp_path: Path, layout: str):
    files, keys = LAYOUTS[layout]
    why_not = reasons(as_folder(tmp_path / "class", files))
    assert sorted(key for key, _ in why_not) == sorted(keys)
    assert set(why_not.values()) == {""}


def test_downloads_of_two_assignments_are_sorted_if_they_have_lessons_names_and_lie_in_no_zip(
    tmp_path: Path,
):
    """Two students who fill their own folders with others' names are two students."""
    two = {
        "02.zip": MOODLE + "/" + LESSON,
        "lesson 03.zip": "bo_2_assignsubmission_file_03_x.ipynb",
    }
    files = {name: zipped({file: notebook()}) for name, file in two.items()}
    assert reasons(as_folder(tmp_path / "two", files)) == {("1234567", "02"): "", ("2", "03"): ""}
    assert set(reasons(as_zip(tmp_path / "class", files)).values()) == {SEVERAL}
    for inside in (MOODLE, "submitted/Ada Lovelace/x"):
        names = {f"{name}/{inside}/{LESSON}": notebook() for name in ("Mal Lory", "Eve Dropper")}
        said = reasons(as_folder(tmp_path / inside[:5], names))
        assert said == {
            ("Mal Lory", ""): SEVERAL,
            ("Eve Dropper", ""): SEVERAL,
        }


def test_only_a_lessons_zip_has_the_limits_of_a_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """To list 16 MiB of names takes seconds."""
    seen = {}
    monkeypatch.setattr(
        submissions.Reader, "unzipped", lambda _, file: seen.setdefault(file.name, file.of_class)
    )
    names = ("02.zip", "02_ada.zip", "bob.zip")
    all_of(as_folder(tmp_path / "class", dict.fromkeys(names, zipped({LESSON: notebook()}))))
    assert [seen[name] for name in names] == [True, False, False]


@pytest.mark.parametrize(
    "name, key", [(MOODLE, "1234567"), ("submitted", "hacker"), ("02_A.zip", "A"), ("1.zip", "1")]
)
def test_what_was_collected_may_be_one_hand_in(tmp_path: Path, name: str, key: str):
    files = {LESSON: notebook(), "predictions.json": b'{"02.peak": 256.0}'}
    if name == "submitted":
        files = {f"hacker/copying/{path}": data for path, data in files.items()}
    if name.endswith(".zip"):
        (tmp_path / name).write_bytes(zipped(files))
    else:
        as_folder(tmp_path / name, files)
    one = only(tmp_path / name)
    assert (one.student.key, one.hand_in.lesson, one.hand_in.predictions) == (
        key,
        "02",
        {"02.peak": 256.0},
    )


def test_what_a_layout_says_of_a_student(tmp_path: Path):
    files = {
        MOODLE + "/" + LESSON: b"{}",
        CANVAS: b"{}",
        "submitted/hacker/copying/" + LESSON: b"{}",
    }
    files |= {"Zoe Müller/" + LESSON: b"{}", "1234567_anon_/x.txt": b""}
    said = {one.student.key: one for one in all_of(as_zip(tmp_path / "class", files))}
    assert {key: (one.student.name, one.hand_in.place) for key, one in said.items()} == {
        "1234567": ("Ada Lovelace", MOODLE),
        "12345": ("lovelaceada", "lovelaceada_LATE_12345_67890"),
        "hacker": ("hacker", "hacker"),
        "Zoe Müller": ("Zoe Müller", "Zoe Müller"),
        "1234567_anon_": ("1234567_anon_", "1234567_anon_"),
    }
    assert [key for key, one in said.items() if one.hand_in.late] == ["12345"]


def test_submissions_without_a_notebook_list_what_is_there(tmp_path: Path):
    files = {
        MOODLE + "/" + LESSON: notebook(),
        MOODLE.replace("file", "onlinetext") + "/onlinetext.html": b"<p>",
    }
    files |= {"Bo_2_assignsubmission_onlinetext_/onlinetext.html": b"<p>", CANVAS: notebook()}
    files |= {"bo_12346_text.html": b"", "cy_12347_link.html": b"", "di_12348_67_essay.pdf": b""}
    files |= {f"many/{n}.txt": b"" for n in range(9)}
    assert reasons(as_zip(tmp_path / "class", files)) == {
        ("1234567", "02"): "",
        ("12345", "02"): "",
        ("2", ""): f"there is no notebook in it, only onlinetext.html; {ASK}",
        ("12346", ""): f"there is no notebook in it, only text.html; {ASK}",
        ("12347", ""): f"there is no notebook in it, only link.html; {ASK}",
        ("12348", ""): f"there is no notebook in it, only essay.pdf; {ASK}",
        (
            "many",
            "",
        ): f"there is no notebook in it, only 0.txt, 1.txt, 2.txt, 3.txt, 4.txt, …; {ASK}",
    }


DAMAGED = {  # what is in a file of this name, and what is said of it; "" if it is graded
    "02_x.ipynb.txt": (notebook(), ""),
    "02_x.ipynb.json": (notebook(), ""),
    "02_pdf.ipynb": (b"%PDF-1.7", "it is a PDF, not a notebook"),
    "02_zip.ipynb": (zipped({"x": b""}), "it is a zip or a Word file, not a notebook"),
    "02_page.ipynb": (b"\n<!DOCTYPE html>", "it is a web page (HTML), not a notebook"),
    "02_git.ipynb": (
        b'{\n<<<<<<< HEAD\n"a"\n=======\n"b"\n>>>>>>> x\n}',
        "git has written both sides of a conflict into it (<<<<<<<, >>>>>>>): keep one",
    ),
    "02_x-checkpoint.ipynb": (
        notebook(),
        "it's JupyterLab's checkpoint, a copy that may be older than the notebook",
    ),
    "02_x.zip": (notebook(), "it is a notebook, not a zip"),
    "02_y.zip": (b"", "it is an empty file, not a zip"),
    "02_x.html": (b"<", "there is no notebook in it, only 02_x.html"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_what_is_damaged_or_renamed_is_named_and_counted_once(tmp_path: Path, name: str):
    data, why = DAMAGED[name]
    one = only(as_folder(tmp_path / "class", {f"ada/{name}": data}))
    assert one.hand_in.why_not == (f"{why}; {ASK}" if why else "")
    assert one.hand_in.lesson == "02"


def test_a_checkpoint_never_counts_beside_the_notebook(tmp_path: Path):
    folder = as_folder(
        tmp_path / "class", {"ada/02_x.ipynb": b"{}", "ada/02_x-checkpoint.ipynb": notebook()}
    )
    os.utime(folder / "ada" / "02_x.ipynb", (1e9, 1e9))
    assert only(folder).notebook() == b"{}"


def test_where_all_are_of_one_lesson_so_is_what_does_not_show_it(tmp_path: Path):
    files = {"ada/" + LESSON: notebook(), "ada/b.ipynb": notebook(), "cy/essay.docx": b"PK"}
    found = submissions.of_one_lesson(all_of(as_folder(tmp_path / "class", files)))
    assert [(one.student.key, one.hand_in.lesson) for one in found] == [
        ("ada", ""),
        ("ada", "02"),
        ("cy", "02"),
    ]
    found = all_of(as_folder(tmp_path / "two", files | {"di/03_x.ipynb": notebook()}))
    assert [*submissions.of_one_lesson(found)] == found


def test_a_file_s_time_is_a_copy_s_if_it_was_written_when_it_came_here(tmp_path: Path):
    folder = as_folder(tmp_path / "class", {name + LESSON: b"{}" for name in ("ada/", "bo/")})
    os.utime(folder / "ada" / LESSON, (1e9, 1e9))
    assert [one.hand_in.copied for one in all_of(folder)] == [False, True]


def test_an_empty_folder_is_a_hand_in_and_what_is_hidden_or_junk_is_not(tmp_path: Path):
    junk = (
        "__MACOSX/ada/._" + LESSON,
        "ada/.DS_Store",
        "ada/.ipynb_checkpoints/" + LESSON,
        "ada/Thumbs.db",
        "._bo/x",
    )
    files = {"bo/" + LESSON: notebook(), ".git/config": b""} | dict.fromkeys(junk, b"other")
    for name in ("cy", ".ipynb_checkpoints"):
        (tmp_path / "class" / name).mkdir(parents=True)
    empty = f"it is empty; {ASK}"
    expected = {("ada", ""): empty, ("bo", "02"): "", ("cy", ""): empty}
    assert reasons(as_folder(tmp_path / "class", files)) == expected
    assert reasons(as_zip(tmp_path / "zip", files | {"ada/": b"", "cy/": b""})) == expected


@pytest.mark.parametrize("wrong", ["nothing", "a text", "a pipe", "a damaged zip"])
def test_a_path_that_is_no_folder_or_zip_is_refused(tmp_path: Path, wrong: str):
    path = tmp_path / "collected.zip"
    if wrong == "a pipe":
        os.mkfifo(path)
    elif wrong != "nothing":
        path.write_bytes(b"text" if wrong == "a text" else zipped({"a/" + LESSON: b"{}"})[:-5])
    with pytest.raises(
        (FileNotFoundError, ValueError), match=r"collected\.zip.*expected a folder or a zip"
    ):
        all_of(path)


# --- the last one counts --------------------------------------------------------------------------
@each_of(
    "names",
    (LESSON, "02_copy_a_big_file (1).ipynb", "02_copy_a_big_file (10).ipynb"),
    (LESSON, "02_copy_a_big_file-Copy1.ipynb", "02_copy_a_big_file-Copy2.ipynb"),
    (
        LESSON,
        "02_copy_a_big_file-1.ipynb",
        "02_copy_a_big_file-2.ipynb",
        "02_copy_a_big_file-12.ipynb",
    ),
    ("02_a.ipynb", "02_b.ipynb"),
)
def test_of_several_the_last_counts(tmp_path: Path, names: tuple[str, ...]):
    one = only(
        as_zip(tmp_path / "class", {f"{MOODLE}/{name}": notebook(text=name) for name in names})
    )
    assert one.notebook() == notebook(text=names[-1])
    assert len(one.hand_in.others) == len(names) - 1
    assert one.hand_in.file not in one.hand_in.others


def test_the_time_decides_before_the_name(tmp_path: Path):
    folder = as_folder(
        tmp_path / "class", {"ada/02_a.ipynb": b"later", "ada/02_b-1.ipynb": b"earlier"}
    )
    os.utime(folder / "ada" / "02_a.ipynb", (2e9, 2e9))
    os.utime(folder / "ada" / "02_b-1.ipynb", (1e9, 1e9))
    one = only(folder)
    assert one.notebook() == b"later"
    assert datetime.fromisoformat(one.hand_in.when).timestamp() == 2e9
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo("ada/02_a.ipynb", (2026, 11, 30, 12, 0, 0)), b"later")
        archive.writestr(zipfile.ZipInfo("ada/02_b-1.ipynb", (2026, 11, 30, 11, 0, 0)), b"earlier")
    one = only(tmp_path / "class.zip")
    # a zip's times have no zone, and give only the order
    assert (one.notebook(), one.hand_in.when) == (b"later", "")


def test_the_times_of_an_lms_download_are_not_when_it_was_handed_in(tmp_path: Path):
    files = {
        MOODLE + "/" + LESSON: b"{}",
        CANVAS.replace("LATE_", ""): b"{}",
        "submitted/ada/copying/" + LESSON: b"{}",
    }
    files[MOODLE + "/timestamp.txt"] = b"2001-01-01 00:00:00 UTC"  # a student's own isn't believed
    for collected in (as_folder(tmp_path / "class", files), as_zip(tmp_path / "class", files)):
        assert [(one.hand_in.when, one.hand_in.late) for one in all_of(collected)] == [
            ("", False)
        ] * 3


# as nbgrader's documentation and tests write them, and the moments they mean; or damaged
TIMESTAMPS = {
    b"2015-02-02 14:58:23.948203 America/Los_Angeles": "2015-02-02T22:58:23.948203+00:00",
    b"2019-05-30 11:44:01.911849 UTC": "2019-05-30T11:44:01.911849+00:00",
    b"2017-07-05T12:32:56.123456": "2017-07-05T12:32:56.123456+00:00",
    b"2017-07-05 12:32:56\n": "2017-07-05T12:32:56+00:00",
    b"2017-07-05T12:32:56+02:00": "2017-07-05T10:32:56+00:00",
    b"2017-07-05 12:32:56 +0200": "2017-07-05T10:32:56+00:00",
    b"2017-07-05T12:32:56Z": "2017-07-05T12:32:56+00:00",
} | dict.fromkeys(
    [
        b"",
        b"yesterday",
        b"2015-02-02 14:58 Nowhere/Land",
        b"2015-02-30 10:00 UTC",
        b"2015-02-02 10:00 ../../etc/passwd",
        b"2015 " * 1000,
        b"9999-12-31 23:59:59 -2359",
        b"\xff",
    ],
    "",
)


@pytest.mark.parametrize("text", TIMESTAMPS)
def test_nbgrader_timestamps_are_read(tmp_path: Path, text: bytes):
    at = "submitted/hacker/copying/"
    when = only(
        as_folder(tmp_path / "course", {at + LESSON: b"{}", at + "timestamp.txt": text})
    ).hand_in.when
    assert (when and datetime.fromisoformat(when).astimezone(UTC).isoformat()) == TIMESTAMPS[text]


# --- which lesson, which edition, what was predicted ----------------------------------------------
def test_a_renamed_notebook_is_of_the_lesson_whose_exercises_it_checks(tmp_path: Path):
    files = {
        "ada/my homework (1).ipynb": notebook("02.chunks", "02.hidden", "03.lookup"),
        "bo/99_x.ipynb": notebook("03.lookup"),
        "cy/Untitled.ipynb": notebook(text="print(1)"),
        "di/Untitled.ipynb": notebook("99.chunks", "02.nothing"),
        "ed/x.ipynb": notebook("02.chunks").replace(rb"\"", b"'"),
        "fay/Untitled.zip": zipped({"Untitled.ipynb": notebook("04.counter"), LESSON: notebook()}),
        "gus/" + LESSON: b"",
    }
    assert reasons(as_folder(tmp_path / "class", files)) == {
        ("ada", "02"): "",
        ("bo", "03"): "",
        ("cy", ""): f"it has no exercise from any lesson; {ASK}",
        ("di", ""): f"it has no exercise from any lesson; {ASK}",
        ("ed", "02"): "",
        ("fay", "02"): "",
        ("fay", "04"): "",
        ("gus", "02"): f"it is an empty file, not a notebook; {ASK}",
    }


EDITION = {"edition": "2026-11-22 (11a3030)", "commit": "11a3030" + "0" * 33, "lesson": "0" * 64}


@each_of(
    ("said", "expected"),
    (EDITION, (EDITION["edition"], EDITION["commit"])),
    (EDITION | {"commit": "'; drop table rows"}, ("", "")),
    (EDITION | {"edition": "\u202e<script>"}, ("", "")),
    ("x", ("", "")),
)
def test_the_edition_is_read_from_the_metadata(
    tmp_path: Path, said: object, expected: tuple[str, str]
):
    data = notebook(
        "02.chunks",
        text='{"zero_copy": {"edition": "no"}}' * 9999,
        zero_copy=said,
        widgets="x" * 99,
    )
    hand_in = only(as_folder(tmp_path / "class", {"ada/" + LESSON: data})).hand_in
    assert (hand_in.edition, hand_in.commit) == expected


PREDICTED = {
    "02.peak": 256.0,
    "02.ways": {"mmap": 0, "read": 1.5},
    "02.which": "mmap",
    "02.order": ["b", "a"],
}
NO_PREDICTIONS = {
    "03.peak": 1,
    "peak": 1,
    "02.": 1,
    "02.x y": 1,
    "02." + "x" * 99: 1,
    "02.a": True,
    "02.b": None,
    "02.c": [[1]],
    "02.d": {"a": {"b": 1}},
    "02.e": float("nan"),
    "02.f": float("inf"),
    "02.g": 10**400,
    "02.h": "x" * 201,
    "02.i": "\ud800",
    "02.j": [1] * 101,
    "02.k": {"\n": 1},
    "02.l": "a\nb",
}


@pytest.mark.parametrize("way", ["in the student's zip", "beside", "Canvas"])
def test_predictions_are_plain_and_small_or_dropped(tmp_path: Path, way: str):
    files = {
        LESSON: notebook(),
        "predictions.json": json.dumps(PREDICTED | NO_PREDICTIONS).encode(),
    }
    laid = {
        "in the student's zip": {MOODLE + "/02_Ada.zip": zipped(files)},
        "beside": {f"ada/hand-in/{name}": data for name, data in files.items()},
        "Canvas": {f"ada_1_{n}_{name}": data for n, (name, data) in enumerate(files.items())},
    }
    one = only(as_folder(tmp_path / "class", laid[way]))
    assert (one.hand_in.predictions, one.hand_in.why_not) == (PREDICTED, "")


def test_damaged_predictions_are_none(tmp_path: Path):
    long = b'{"02.peak": ' + b"1" * 5000 + b"}", b'{"02.peak": 1' + b" " * MiB + b"}"
    files = {
        f"{n}/predictions.json": data
        for n, data in enumerate((b"[1]", b"{", b"\xff\xfe", b"[" * MiB, *long))
    }
    found = all_of(
        as_folder(tmp_path / "class", files | {f"{n}/{LESSON}": notebook() for n in range(6)})
    )
    assert [(one.hand_in.predictions, one.hand_in.why_not) for one in found] == [({}, "")] * 6


# --- hostile --------------------------------------------------------------------------------------
GOOD = notebook("02.chunks")
PACKED = zipped({LESSON: GOOD})
CENTRAL = PACKED.index(b"PK\x01\x02")  # where the list of names begins


def changed(data: bytes, at: int, form: str, value: int) -> bytes:
    """A zip with the number in one place changed."""
    made = bytearray(data)
    struct.pack_into(form, made, at, value)
    return bytes(made)


def overlapping() -> bytes:
    """A notebook of 30 MiB that the list names 900 times, like the overlapping files of a zip
    bomb.
    """
    one = zipped({LESSON: bytes(30 * MiB)})
    start = one.index(b"PK\x01\x02")
    end = one.rindex(b"PK\x05\x06")
    listed = one[start:end] * 900
    return (
        one[:start]
        + listed
        + struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 900, 900, len(listed), start, 0)
    )


def endless() -> bytes:
    """A notebook that declares 30 MiB, and unpacks to 300."""
    packed = zipped({LESSON: bytes(300 * MiB)})
    return changed(packed, packed.rindex(b"PK\x01\x02") + 24, "<I", 30 * MiB)


def of_kind(kind: int, data: bytes = b"") -> bytes:
    """A zip in which the notebook is a link or a pipe, as Unix packs one."""
    made = io.BytesIO()
    entry = zipfile.ZipInfo(LESSON)
    entry.create_system = 3
    entry.external_attr = kind << 16
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(entry, data)
    return made.getvalue()


ZIPS = {  # what a student hands in as 02_Ada.zip, and what must be said about it
    "encrypted": (
        lambda: changed(changed(PACKED, 6, "<H", 1), CENTRAL + 8, "<H", 1),
        "it is encrypted",
    ),
    "cut off": (lambda: PACKED[:-20], "the zip is damaged (File is not a zip file)"),
    "no files": (lambda: zipped({}), f"it is empty; {ASK}"),
    "wrong checksum": (
        lambda: changed(PACKED, CENTRAL + 16, "<I", 1),
        "the zip is damaged (Bad CRC-32 for file",
    ),
    "broken data": (lambda: changed(PACKED, 70, "<Q", 2**64 - 1), "the zip is damaged ("),
    "declares 4 GiB": (
        lambda: changed(PACKED, CENTRAL + 24, "<I", 2**32 - 2),
        "the notebook is 4 GiB; the limit is",
    ),
    "another name at the file": (
        lambda: PACKED.replace(b"02_copy", b"03_copy", 1),
        "the zip is damaged (File name in",
    ),
    "no UTF-8": (
        lambda: zipped({"ä.ipynb": GOOD}).replace("ä".encode(), b"\xff\xff"),
        "the zip is damaged ('utf-8'",
    ),
    "300 MiB unpacked": (endless, "the zip is damaged (Bad CRC-32 for file"),
    "20 GiB, by overlapping": (overlapping, "files overlap in the zip; pack it again"),
    "bzip2": (
        lambda: zipped({LESSON: bytes(MiB)}, zipfile.ZIP_BZIP2),
        "it uses a compression that we don't read",
    ),
    "1,001 files": (
        lambda: zipped({f"{n}": b"" for n in range(1_001)}),
        "the zip has 1,001 files; hand in",
    ),
    "a long list": (
        lambda: zipped({f"{n:0>1500}": b"" for n in range(900)}),
        "the zip's list of names takes 1.33 MiB",
    ),
    "../": (
        lambda: zipped({LESSON: GOOD, "../../x": b""}),
        "it names a file outside the zip (../../x)",
    ),
    "absolute": (
        lambda: zipped({LESSON: GOOD, "/x": b""}),
        "it names a file outside the zip (/x)",
    ),
    "a drive": (
        lambda: zipped({LESSON: GOOD, "C:/x": b""}),
        "it names a file outside the zip (C:/x)",
    ),
    "backslashes": (
        lambda: zipped({LESSON: GOOD, "..\\x": b""}),
        "it names a file outside the zip (..\\x)",
    ),
    "link to the teacher's": (
        lambda: of_kind(stat.S_IFLNK | 0o777, b"/etc/passwd"),
        "it is a link; hand in the file",
    ),
    "pipe": (lambda: of_kind(stat.S_IFIFO), "it is a pipe or a device; hand in a file"),
    "zip in a zip": (
        lambda: zipped({"02_x.zip": PACKED}),
        f"there is no notebook in it, only 02_x.zip; {ASK}",
    ),
    "folder named as a notebook": (lambda: zipped({LESSON + "/": b""}), f"it is empty; {ASK}"),
}


@pytest.mark.parametrize("lay_out", [as_folder, as_zip])
@pytest.mark.parametrize("trick", ZIPS)
def test_a_hostile_zip_is_refused_and_the_others_go_on(tmp_path: Path, trick: str, lay_out: LayOut):
    make, expected = ZIPS[trick]
    collected = lay_out(tmp_path / "class", {"ada/02_Ada.zip": make(), "bo/" + LESSON: GOOD})
    for _ in range(2):  # another thread's allocations count too, but hardly twice in a row
        tracemalloc.start()
        try:
            why_not = reasons(collected)
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        if most < 4 * 64 * MiB:
            break
    assert most < 4 * 64 * MiB
    assert why_not.pop(("bo", "02")) == ""
    (message,) = why_not.values()
    assert message.startswith(expected)
    assert str(tmp_path) not in message


def test_files_of_200_mib_are_refused_unread(tmp_path: Path):
    large = bytes(200 * MiB)
    files = {"ada/" + LESSON: large, "cy/02_x.zip": large, "bo/" + LESSON: GOOD}
    advice = "clear its outputs (Edit > Clear All Outputs) and hand in again"
    assert reasons(as_folder(tmp_path / "class", files)) == {
        ("ada", "02"): f"the notebook is 200 MiB; the limit is 32 MiB: {advice}",
        ("bo", "02"): "",
        ("cy", "02"): "the zip is 200 MiB; the limit is 64 MiB: hand in the notebook alone",
    }


def test_each_student_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(submissions, "STUDENT_SIZE", 4 * MiB)
    many = zipped({f"{n}/Untitled.ipynb": bytes(MiB) for n in range(9)})
    collected = as_zip(
        tmp_path / "class",
        {"ada/x.zip": many, "bo/" + LESSON: GOOD, "cy/" + LESSON: bytes(3 * MiB)},
    )
    assert reasons(collected) == {
        ("ada", ""): "more than 512 MiB were handed in; hand in the notebook alone",
        ("bo", "02"): "",
        ("cy", "02"): "",
    }
    files = {f"ada/{n}.ipynb": b"" for n in range(1_001)} | {"bo/x.txt": b""}
    assert reasons(as_folder(tmp_path / "many", files))["ada", ""].startswith(
        "there are more than 1,000 notebooks"
    )


def test_links_pipes_and_folders_are_not_followed(tmp_path: Path):
    secret = as_folder(tmp_path / "teacher", {"02_solution.ipynb": GOOD})
    files = {f"{name}/readme.txt": b"" for name in ("ada", "cy", "di", "ed", "fay")}
    folder = as_folder(tmp_path / "class", files | {"bo/" + LESSON: GOOD})
    (folder / "ada" / LESSON).symlink_to(secret / "02_solution.ipynb")
    (folder / "cy" / LESSON).symlink_to(secret)
    (folder / "di" / LESSON).hardlink_to(secret / "02_solution.ipynb")
    os.mkfifo(folder / "ed" / LESSON)
    (folder / "fay" / LESSON).mkdir()
    (folder / "gus").symlink_to(secret)
    (folder / "around").symlink_to(folder)
    link = "it is a link; hand in the file itself"
    assert reasons(folder) == {
        **dict.fromkeys(
            [("ada", "02"), ("cy", "02"), ("di", "02"), ("gus", ""), ("around", "")], link
        ),
        ("bo", "02"): "",
        ("ed", "02"): "it is a pipe or a device; hand in a file",
        ("fay", ""): f"there is no notebook in it, only readme.txt; {ASK}",
    }


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_files_and_folders_without_permission_are_reported(tmp_path: Path):
    folder = as_folder(
        tmp_path / "class", {name + LESSON: GOOD for name in ("ada/", "bo/", "cy/own/", "di/")}
    )
    closed = [folder / "ada" / LESSON, folder / "bo", folder / "cy" / "own"]
    for path in closed:
        path.chmod(0)
    try:
        assert reasons(folder) == {
            ("ada", "02"): "the notebook cannot be read: Permission denied",
            ("bo", ""): "the folder cannot be read: Permission denied",
            ("cy", ""): "the folder cannot be read: Permission denied",
            ("di", "02"): "",
        }
        folder.chmod(0)
        with pytest.raises(ValueError, match="Permission denied"):
            all_of(folder)
    finally:
        for path in (folder, *closed):
            path.chmod(0o700)


def test_a_notebook_that_changed_since_is_not_graded(tmp_path: Path):
    folder = as_folder(tmp_path / "class", {"ada/" + LESSON: GOOD})
    one = only(folder)
    (folder / "ada" / LESSON).write_bytes(notebook("02.hidden"))
    with pytest.raises(CannotBeGraded, match="has changed"):
        one.notebook()
    (folder / "ada" / LESSON).unlink()
    with pytest.raises(CannotBeGraded, match="No such file"):
        one.notebook()


@pytest.mark.parametrize(
    "data", [b"[" * (32 * MiB), b'exercise(\\"02.' * (2 * MiB), b'"zero_copy": {' * (2 * MiB)]
)
def test_a_notebook_is_not_parsed_here(tmp_path: Path, data: bytes):
    short = reasons(
        as_folder(tmp_path / "class", {"ada/" + LESSON: data, "bo/Untitled.ipynb": data})
    )
    assert short == {("ada", "02"): "", ("bo", ""): f"it has no exercise from any lesson; {ASK}"}


def test_ten_thousand_folders_in_each_other_end(tmp_path: Path):
    files = {"ada/" + "a/" * 10_000 + LESSON: GOOD, "bo/" + LESSON: GOOD}
    assert set(reasons(as_zip(tmp_path / "class", files)).values()) == {""}


# --- names ----------------------------------------------------------------------------------------
def distinct(founds: list[Submission], students: int) -> None:
    """Each student has a different key, which a table and a TOML file can hold."""
    keys = [one.student.key for one in founds]
    assert len(set(keys)) == students
    assert keys == sorted(keys)
    for text in (text for one in founds for text in (one.student.key, one.student.name)):
        assert text.strip()
        assert len(text) <= 200
        assert all(char.isprintable() or char in JOINERS for char in text)
        assert tomllib.loads(f"{json.dumps(text, ensure_ascii=False)} = 1") == {text: 1}


def test_names_that_are_no_text_are_told_apart(tmp_path: Path):
    names = [b"M\xfcller", b"M\xf6ller", "Müller".encode(), b"\xff", b"\xfe"]
    founds = all_of(
        as_folder(tmp_path / "class", {f"{os.fsdecode(name)}/{LESSON}": name for name in names})
    )
    distinct(founds, len(names))
    assert {one.notebook() for one in founds} == set(names)
    assert "Müller" in {one.student.key for one in founds}


def test_a_name_that_leads_out_of_the_class_zip_is_a_hand_in_that_is_not_read(tmp_path: Path):
    files = {
        f"{name}/{LESSON}": GOOD
        for name in ("..", "../../etc", "/abs", "ada/../bo", "C:/cy", "./di")
    }
    short = reasons(as_zip(tmp_path / "class", files))
    assert {why for (key, _), why in short.items() if key != "di"} == {
        f"it names a file outside the zip ({name}); pack it again"
        for name in files
        if not name.startswith("./")
    } - {f"it names a file outside the zip (../../etc/{LESSON}); pack it again"}
    assert short["di", "02"] == ""


def test_names_as_macos_packs_them(tmp_path: Path):
    """In UTF-8, decomposed, without the flag that says it's UTF-8."""
    name = "Mu\u0308ller"
    flagged = zipped({f"{name}/{LESSON}": GOOD, f"bo/{LESSON}": GOOD})
    made = flagged.replace(b"\0\x08", b"\0\0")
    assert made != flagged
    (tmp_path / "class.zip").write_bytes(made)
    assert [one.student.key for one in all_of(tmp_path / "class.zip")] == ["Müller", "bo"]


def test_students_with_the_same_name_or_number_stay_apart(tmp_path: Path):
    names = [
        "Ada Lovelace_1_assignsubmission_file_",
        "Ada Lovelace_2_assignsubmission_file_",
        "1",
        "Ada Lovelace",
        "Müller",
        "Mu\u0308ller",
        "submitted/1/copying",
        "submitted/ada/copying",
        "ada",
        "Ada",
        "a" * 300,
        "a" * 300 + "b",
        "tab\there",
        "zero\u200bwidth",
        "join\u200ced",
        "\u200d",
    ]
    files = {f"{name}/{LESSON}": notebook(text=name) for name in names}
    # as from Canvas
    files |= {name: notebook(text=name) for name in ("ada_1_2_02_x.ipynb", "bo_1_2_02_x.ipynb")}
    founds = all_of(as_zip(tmp_path / "class", files))
    distinct(founds, len(files))
    kept = {one.student.key: one.hand_in.file for one in founds}
    # a system's number takes precedence over a folder's name
    assert kept["1"].startswith("Ada Lovelace_1_")
    assert kept["ada"].startswith("submitted/")
    assert kept["Ada Lovelace"] == f"Ada Lovelace/{LESSON}"


# --- lazily, and without a trace ------------------------------------------------------------------
@pytest.mark.parametrize("lay_out", [as_folder, as_zip])
def test_one_notebook_is_in_memory_at_a_time(tmp_path: Path, lay_out: LayOut):
    collected = lay_out(tmp_path / "class", {f"{at}/{LESSON}": bytes(5 * MiB) for at in range(20)})
    tracemalloc.start()
    try:
        held = list(submissions.submissions(collected))
        assert len(held[-1].notebook()) == 5 * MiB
        assert tracemalloc.get_traced_memory()[1] < 20 * MiB
    finally:
        tracemalloc.stop()


def test_a_path_that_is_too_long_is_its_student_s_line(tmp_path: Path):
    collected = as_folder(tmp_path / "class", {"ada/" + LESSON: notebook()})
    here = os.getcwd()
    os.mkdir(collected / "bo")
    os.chdir(collected / "bo")
    try:
        while len(os.getcwd()) < 3_900:
            os.mkdir("d" * 100)
            os.chdir("d" * 100)
        Path("x" * 250).touch()
    finally:
        os.chdir(here)
    assert [one.student.key for one in all_of(collected)] == ["ada", "bo"]


def test_letters_that_show_nothing_make_no_name_another():
    for blank in "\u3164\u2800\u034f\ufe0f\u200b":
        assert one_line(f"Ada{blank} Lovelace{blank}") == "Ada Lovelace"


def test_nothing_is_written_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("home", "temporary", "here"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path / "here")
    collected = as_folder(
        tmp_path / "class", {f"{n}/02_x.zip": make() for n, (make, _) in enumerate(ZIPS.values())}
    )
    before = {at: (at.stat().st_size, at.stat().st_ctime_ns) for at in tmp_path.rglob("*")}
    reasons(collected)
    assert {at: (at.stat().st_size, at.stat().st_ctime_ns) for at in tmp_path.rglob("*")} == before
