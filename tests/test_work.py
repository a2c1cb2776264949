"""A student's own copies of the lessons: a new edition comes in, and nothing of the student's is
lost.
"""

import http.server
import io
import json
import os
import re
import socketserver
import sys
import threading
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import folders
from helpers.edition import Edition
from helpers.teach import notebook_files
from helpers.teach import work as module
from helpers.teach.merging import Cell, merged, note_of
from helpers.teach.notebook_files import NoNotebook, read
from helpers.teach.work import EARLIER_COPIES, KEPT, Work, main

OLD = Edition("2026-09-01", "a" * 40)
NEW = Edition("2026-10-01", "b" * 40)
LESSON = "02_copy_a_big_file.ipynb"


def code(name: str, text: str, **more: object) -> Cell:
    cell = {
        "id": name,
        "cell_type": "code",
        "source": text,
        "metadata": {},
        "outputs": [],
        "execution_count": None,
    }
    return cell | more


def has_run(cell: Cell) -> Cell:
    output = {"output_type": "stream", "name": "stdout", "text": cell["source"]}
    return {**cell, "execution_count": 3, "outputs": [output]}


# --- three texts of a cell ------------------------------------------------------------------------
# Few names and few texts, so that the three lists meet in every way; the cells of `mine` have been
# run.
handed_out = st.lists(
    st.builds(code, st.sampled_from("abcdef"), st.sampled_from("12")),
    unique_by=lambda one: one["id"],
)
edited = st.lists(
    st.builds(code, st.sampled_from("abcdefgh"), st.sampled_from("123")),
    unique_by=lambda one: one["id"],
)
three = {
    "base": handed_out,
    "mine": edited.map(lambda cells: [has_run(cell) for cell in cells]),
    "theirs": edited,
}


def by_name(cells: list[Cell]) -> dict[str, Cell]:
    return {cell["id"]: cell for cell in cells}


@given(**three)
def test_nothing_that_the_student_wrote_is_lost(base, mine, theirs):
    was = by_name(base)
    made = merged(base, mine, theirs).cells
    own = [
        cell
        for cell in mine
        if cell["id"] not in was or was[cell["id"]]["source"] != cell["source"]
    ]
    assert [cell for cell in own if cell not in made] == []


@given(**three)
def test_all_else_is_as_the_edition_has_it(base, mine, theirs):
    was = by_name(base)
    is_ = by_name(mine)
    will = by_name(theirs)
    made = merged(base, mine, theirs)
    assert len(by_name(made.cells)) == len(made.cells), "no cell twice"
    found = by_name(made.cells)
    for name in was.keys() - is_.keys():
        assert name not in found, "what the student deleted stays away"
    for name in is_.keys() & was.keys():
        if is_[name]["source"] == was[name]["source"]:
            assert found.get(name, {}).get("source") == will.get(name, {}).get("source")
    for name in will.keys() - is_.keys() - was.keys():
        assert found[name] == will[name]
    for name in found.keys() & is_.keys():
        assert (found[name]["outputs"], found[name]["execution_count"]) == (
            (is_[name]["outputs"], 3)
            if found[name]["source"] == is_[name]["source"]
            else ([], None)
        )
    assert {cell["id"] for cell in made.kept} == {
        name
        for name in is_
        if is_[name]["source"] != was.get(name, {}).get("source")
        and will.get(name, {}).get("source")
        not in (was.get(name, {}).get("source"), is_[name]["source"])
    }


@given(**three)
def test_the_order_is_the_edition_s_unless_the_student_has_another(base, mine, theirs):
    was = by_name(base)
    made = [cell["id"] for cell in merged(base, mine, theirs).cells]
    own = by_name(mine)
    moved = [name for name in own if name in was] != [name for name in was if name in own]
    mine, theirs = (
        [cell["id"] for cell in cells if cell["id"] in made] for cells in (mine, theirs)
    )
    assert not moved or [name for name in made if name in mine] == mine
    assert moved or not base or [name for name in made if name in theirs] == theirs
    if base and not moved:
        for before, own in pairwise(mine):
            assert own in theirs or made.index(own) == made.index(before) + 1, (
                "an own cell is where it was"
            )


@given(**three)
def test_what_has_been_merged_stays_as_it_is(base, mine, theirs):
    made = merged(base, mine, theirs).cells
    again = merged(theirs, made, theirs)
    assert (again.cells, again.brought, again.kept) == (made, (), ())


def test_an_edition_changes_tags_and_the_student_keeps_what_jupyterlab_wrote():
    base = [code("a", "1"), code("b", "2")]
    theirs = [code("a", "1", metadata={"tags": ["claim"]}), code("b", "2")]
    mine = [has_run(code("a", "1")), has_run(code("b", "2", metadata={"collapsed": True}))]
    made = merged(base, mine, theirs).cells
    assert [cell["metadata"] for cell in made] == [{"tags": ["claim"]}, {"collapsed": True}]
    assert all(cell["outputs"] for cell in made)


def test_cells_without_a_name_of_their_own_get_one_and_stay():
    nameless = {
        "cell_type": "code",
        "source": "3",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
    }
    made = merged(
        [code("a", "1")], [code("a", "1"), code("a", "2"), nameless], [code("a", "4")]
    ).cells
    assert [cell["source"] for cell in made] == ["4", "2", "3"]
    assert len(by_name(made)) == 3


# --- a folder of copies ---------------------------------------------------------------------------
@pytest.fixture
def student(tmp_path: Path) -> Work:
    """Copies of three lessons in their first edition."""
    student = Work(tmp_path / "mine", tmp_path / "lessons", OLD)
    for number, name in enumerate(("00_start_here.ipynb", "01_see_a_page.ipynb", LESSON)):
        issue(student, {f"{number}-{at}": f"cell {at}" for at in "abcd"}, name)
    for name in ("rust/copy.rs", "rust/cow.rs", "own_code/own.ipynb"):
        (student.lessons / name).parent.mkdir(exist_ok=True)
        (student.lessons / name).write_text("first")
    assert len(list(student.bring_up_to_date())) == 1
    return student


def issue(student: Work, cells: dict[str, str], lesson: str = LESSON) -> None:
    """Writes the lesson with these cells to the folder that the student's copies follow."""
    notebook = {
        "cells": [code(*cell) for cell in cells.items()],
        "metadata": {"kernelspec": {}},
        "nbformat": 4,
    }
    path = student.lessons / lesson
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(notebook | {"nbformat_minor": 5}))


def texts(student: Work, name: str = LESSON) -> dict[str, str]:
    return {cell["id"]: cell["source"] for cell in read(student.folder / name)["cells"]}


def write(student: Work, changes: dict[str, str | None], name: str = LESSON) -> None:
    """The student changes cells, or deletes them (None), and JupyterLab saves the notebook."""
    notebook = read(student.folder / name)
    for cell in notebook["cells"]:
        cell["source"] = changes.get(cell["id"], cell["source"])
    notebook["cells"] = [cell for cell in notebook["cells"] if cell["source"] is not None]
    (student.folder / name).write_text(json.dumps(notebook))


def after(student: Work, edition: Edition = NEW) -> list[str]:
    """Brings the folder up to this edition. Returns what it says."""
    return list(Work(student.folder, student.lessons, edition).bring_up_to_date())


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file in a folder, and when it was written."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in found
    }


def test_copies_say_which_edition_they_are_of(student: Work):
    for path in folders.lessons(student.folder):
        said = read(path)["metadata"]["zero_copy"]
        assert (said["edition"], said["commit"]) == ("2026-09-01 (aaaaaaa)", "a" * 40)
    names = sorted(path.name for path in student.folder.glob("[!.]*"))
    assert names == ["00_start_here.ipynb", "01_see_a_page.ipynb", LESSON, "own_code", "rust"]


def test_where_nothing_is_new_nothing_is_written_or_said(student: Work):
    write(student, {"2-b": "my own"})
    before = files(student.folder)
    lesson = read(student.lessons / LESSON)
    # as in an edition for a class
    lesson["metadata"]["zero_copy"] = {"edition": str(NEW), "commit": NEW.commit}
    (student.lessons / LESSON).write_text(json.dumps(lesson))
    assert after(student) == []
    assert files(student.folder) == before


def test_a_new_edition_comes_in_and_the_student_s_cells_stay(student: Work):
    write(student, {"2-b": "my own", "2-c": "mine too"})
    before = (student.folder / LESSON).read_bytes()
    issue(student, {"2-a": "new a", "2-b": "new b", "2-c": "cell c", "2-e": "cell e"})
    (said,) = after(student)
    (note,) = noted(student)
    assert texts(student) == {
        "2-a": "new a",
        note: KEPT.format("make fresh LESSON=02"),
        "2-b": "my own",
        "2-c": "mine too",
        "2-e": "cell e",
    }
    assert said.startswith(
        f"{LESSON}: 3 cells brought in from the edition 2026-10-01 (bbbbbbb): “new a”, “cell e”."
    )
    assert (
        "yours stays: “my own”. `make fresh LESSON=02` shows the edition's, beside yours." in said
    )
    assert read(student.folder / LESSON)["metadata"]["zero_copy"]["commit"] == NEW.commit
    (kept,) = (student.folder / ".zero-copy" / "before").iterdir()
    assert kept.name == "02_copy_a_big_file.before-2026-10-01-bbbbbbb.ipynb"
    assert kept.read_bytes() == before
    assert after(student) == []


def noted(student: Work) -> list[str]:
    """The ids of the notes in the student's copy."""
    return [cell["id"] for cell in read(student.folder / LESSON)["cells"] if note_of(cell)]


@pytest.fixture
def kept(student: Work) -> Work:
    """The student and an edition have changed the same two cells."""
    write(student, {"2-b": "my own", "2-c": "mine too"})
    issue(student, {"2-a": "cell a", "2-b": "new b", "2-c": "new c"})
    after(student)
    return student


def test_a_note_stays_single_while_the_cell_differs(kept: Work):
    issue(kept, {"2-a": "new a", "2-b": "newer b", "2-c": "new c"})
    after(kept)
    first, second = noted(kept)
    assert list(texts(kept)) == ["2-a", first, "2-b", second, "2-c"]
    assert texts(kept)["2-b"] == "my own"


def test_a_note_goes_when_the_new_version_is_taken_over(kept: Work):
    write(kept, {"2-b": "new b"})
    assert after(kept) == []
    write(kept, {"2-c": None})
    assert after(kept) == []
    assert texts(kept) == {"2-a": "cell a", "2-b": "new b"}


def test_a_note_that_the_student_deleted_stays_away_and_a_changed_one_is_theirs(kept: Work):
    first, second = noted(kept)
    write(kept, {first: None, second: "Seen, thanks."})
    issue(kept, {"2-a": "new a", "2-b": "new b", "2-c": "new c"})
    after(kept)
    assert [*texts(kept).values()] == ["new a", "my own", "Seen, thanks.", "mine too"]


def test_a_cell_with_an_answer_is_named_by_its_exercise(student: Work):
    write(
        student,
        {f"2-{cell}": f'import numpy\nexercise("02.{cell}").check(copy)' for cell in "abcd"},
    )
    issue(student, {f"2-{cell}": "new" for cell in "abcd"})
    (said,) = after(student)
    assert (
        "yours stays: the answer to 02.a, the answer to 02.b, the answer to 02.c, and 1 more."
        in said
    )


def test_a_changed_text_is_announced_by_the_paragraph_that_changed(student: Work):
    path = student.lessons / LESSON
    lesson = read(path)
    text = {"cell_type": "markdown", "id": "text", "metadata": {}, "source": "# Copy\n\nOnce."}
    path.write_text(json.dumps({**lesson, "cells": [*lesson["cells"], text]}))
    after(student)
    text["source"] = "# Copy\n\nTwice."
    new = [code(f"2-{cell}", f"new {cell}") for cell in "abcd"]
    path.write_text(json.dumps({**lesson, "cells": [*new, text]}))
    (said,) = after(student)
    assert said.endswith("“new c”, and 1 more. New or changed text: “Twice.”.")


def test_a_changed_exercise_is_announced_and_its_cell_says_so(student: Work, tmp_path: Path):
    (folder := tmp_path / "exercises" / "02" / "chunks").mkdir(parents=True)
    files = [folder / name for name in ("prompt.md", "hints.md", "check.py")]
    for file in files:
        file.write_text("first")
    student = Work(student.folder, student.lessons, NEW, tmp_path / "exercises")
    assert list(student.bring_up_to_date()) == [], "nothing of theirs has run yet"
    notebook = read(student.folder / LESSON) | {
        "cells": [has_run(code("2-a", 'exercise("02.chunks")'))]
    }
    (student.folder / LESSON).write_text(json.dumps(notebook))
    for file in files:
        file.write_text("second")
        said = (
            []
            if file.stem == "hints"
            else ["The exercise 02.chunks has changed: run its cells again."]
        )
        assert list(student.bring_up_to_date()) == said
        first, then = read(student.folder / LESSON)["cells"][0]["outputs"]
        assert first["text"].startswith("This exercise has changed since this cell ran.")
        assert "exercise" in then["text"]


def test_the_last_three_copies_are_kept_as_they_were(student: Work):
    for number in range(EARLIER_COPIES + 2):
        write(student, {"2-b": f"mine {number}"})
        issue(student, {"2-a": f"edition {number}", "2-b": "cell b"})
        after(student)
    kept = (student.folder / ".zero-copy" / "before").iterdir()
    assert sorted(read(path)["cells"][1]["source"] for path in kept) == [
        "mine 2",
        "mine 3",
        "mine 4",
    ]


def test_what_an_open_jupyterlab_wrote_over_it_is_brought_up_to_date_again(student: Work):
    """It still names the edition it was made from, so its cells aren't taken for the
    student's own.
    """
    before = (student.folder / LESSON).read_bytes()
    issue(student, {"2-a": "new a", "2-b": "cell b"})
    after(student)
    (student.folder / LESSON).write_bytes(before)
    issue(student, {"2-a": "newer a", "2-b": "cell b"})
    after(student)
    assert texts(student) == {"2-a": "newer a", "2-b": "cell b"}


def test_a_copy_that_does_not_say_what_it_was_made_from_loses_nothing(student: Work):
    notebook = read(student.folder / LESSON)
    notebook["cells"] = [code("own", "my own"), *notebook["cells"][1:]]
    for metadata in (
        {},
        {"zero_copy": {"lesson": "../../../x"}},
        {"zero_copy": {"lesson": "0" * 16}},
    ):
        (student.folder / LESSON).write_text(
            json.dumps(notebook | {"metadata": metadata, "nbformat_minor": 4})
        )
        issue(student, {"2-a": "cell a", "2-b": "new b", "2-e": "cell e"})
        after(student)
        (note,) = noted(student)
        assert texts(student) == {
            note: KEPT.format("make fresh LESSON=02"),
            "2-a": "cell a",
            "own": "my own",
            "2-b": "cell b",
            "2-c": "cell c",
            "2-d": "cell d",
            "2-e": "cell e",
        }
        assert read(student.folder / LESSON)["nbformat_minor"] == 5


def test_a_deleted_copy_comes_back_fresh(student: Work):
    (student.folder / LESSON).unlink()
    assert after(student)[0] == f"{LESSON} was gone: there is a fresh copy again."
    assert texts(student)["2-a"] == "cell a"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"nbformat": 3, "worksheets": []}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {},'
        b' "cells": [{"cell_type": "code", "source": 1}]}',
    ],
    ids=lambda content: repr(content[:12]),
)
def test_a_file_that_cannot_be_read_is_named_and_left_alone(student: Work, content: bytes):
    broken = student.folder / "01_see_a_page.ipynb"
    other = {"2-a": "new a"}
    broken.write_bytes(content)
    issue(student, {"1-a": "new a"}, broken.name)
    issue(student, other)
    said = after(student)
    assert said[0].startswith(f"{broken} cannot be read as a notebook: not ")
    assert "make fresh LESSON=01" in said[0]
    assert broken.read_bytes() == content
    assert texts(student) == other, "the others are brought up to date"


@pytest.mark.skipif(os.name != "posix", reason="links and pipes")
def test_trouble_with_one_file_does_not_hold_up_the_others(student: Work, tmp_path: Path):
    """A lesson is on a stick that isn't plugged in, another is a link to itself, and a program is a
    pipe.
    """
    on_stick, loop, pipe = (
        student.folder / f for f in ("00_start_here.ipynb", "01_see_a_page.ipynb", "rust/copy.rs")
    )
    for path, make in (
        (on_stick, lambda path: path.symlink_to(tmp_path / "stick" / path.name)),
        (loop, lambda path: path.symlink_to(path)),
        (pipe, os.mkfifo),
    ):
        path.unlink()
        make(path)
    issue(student, {"2-a": "new a"})
    for name in ("rust/copy.rs", "rust/cow.rs"):
        (student.lessons / name).write_text("second")
    first, second, third, fourth = after(student)
    assert f"no such folder; make it first: {tmp_path / 'stick'}. " in first
    assert "`make fresh LESSON=00`" in first
    assert second.startswith(
        "01_see_a_page.ipynb can't be brought up to date: Too many levels of symbolic links"
    )
    assert third.startswith(f"{LESSON}: 4 cells")
    assert (student.folder / "rust/cow.rs").read_text() == "second"
    assert fourth.startswith("rust/copy.rs can't be brought up to date: this is a device or a pipe")
    assert fourth.endswith("It stays as it is.")


@pytest.mark.skipif(os.name != "posix", reason="pipes")
def test_nothing_waits_for_a_pipe_or_reads_a_file_without_end(
    student: Work, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(student.folder))
    os.mkfifo(student.folder / "jpserver-1.json")
    assert list(module.servers(student.folder)) == []
    monkeypatch.setattr(notebook_files, "LARGEST", 200_000, raising=False)
    os.truncate(student.folder / LESSON, 200_001)
    (said,) = after(student)
    assert said.startswith(
        f"{LESSON} can't be brought up to date: it has 195 KiB; the limit is 195 KiB: "
    )


def test_what_is_saved_during_the_merge_stays_and_is_merged_next_time(
    student: Work, monkeypatch: pytest.MonkeyPatch
):
    """An editor writes another file, and renames it."""
    path = student.folder / LESSON
    put = module._put

    def slow(*arguments: object) -> None:
        if path.read_bytes() == before:
            cells = [*read(path)["cells"], code("own", "my own")]
            (beside := path.with_suffix(".saving")).write_text(
                json.dumps(read(path) | {"cells": cells})
            )
            beside.rename(path)
        put(*arguments)

    before = path.read_bytes()
    monkeypatch.setattr(module, "_put", slow)
    issue(student, {"2-a": "new a"})
    (said,) = after(student)
    assert said.startswith(
        f"{LESSON} can't be brought up to date: an editor has just saved it: {path}. It stays"
    )
    assert texts(student)["2-a"] == "cell a"
    assert texts(student)["own"] == "my own"
    after(student)
    assert texts(student) == {"2-a": "new a", "own": "my own"}


def test_a_fresh_copy_lies_beside_the_student_s(student: Work):
    write(student, {"2-a": "mine"})
    made = [student.fresh(student.lessons / LESSON) for _ in range(2)]
    assert [path.name for path in made] == [
        "02_copy_a_big_file-fresh.ipynb",
        "02_copy_a_big_file-fresh-2.ipynb",
    ]
    assert texts(student, made[0].name)["2-a"] == "cell a"
    assert texts(student)["2-a"] == "mine"


def test_what_the_student_changed_beside_the_lessons_stays(student: Work):
    changed = ("own_code/own.ipynb", "rust/copy.rs")
    for name in changed:
        (student.folder / name).write_text("mine")
    for name in (*changed, "rust/cow.rs", "rust/new.rs"):
        (student.lessons / name).write_text("second")
    stays = "{} stays as you have it; edition 2026-10-01 (bbbbbbb) has another version."
    assert after(student) == [stays.format(name) for name in changed]
    assert after(student) == []
    found = {path.name: path.read_text() for path in student.folder.glob("[a-z]*/*")}
    assert found == {
        "own.ipynb": "mine",
        "copy.rs": "mine",
        "cow.rs": "second",
        "new.rs": "second",
    }


def test_programs_with_crates_come_without_what_cargo_left(student: Work):
    crates = student.lessons / "rust" / "crates"
    (crates / "target").mkdir(parents=True)
    for name in ("copy.rs", "Cargo.toml", "Cargo.lock", "target/copy.rs"):
        (crates / name).write_text("first")
    assert after(student) == []
    assert sorted(os.listdir(student.folder / "rust" / "crates")) == ["Cargo.toml", "copy.rs"]


# --- JupyterLab has it open -----------------------------------------------------------------------
def test_a_lesson_that_is_open_in_jupyterlab_waits(student: Work, monkeypatch: pytest.MonkeyPatch):
    issue(student, {"2-a": "new a"})
    issue(student, {"1-a": "new a"}, "01_see_a_page.ipynb")
    running = module.Server("", student.folder, [student.folder / LESSON])
    monkeypatch.setattr(module, "servers", lambda folder: [running])
    said = after(student)
    assert said[0].startswith("01_see_a_page.ipynb: 4 cells")
    assert said[1].startswith(f"{LESSON} is open in JupyterLab")
    assert texts(student)["2-a"] == "cell a"
    monkeypatch.setattr(module, "servers", lambda folder: [])
    after(student)
    assert texts(student) == {"2-a": "new a"}


def test_a_second_jupyterlab_is_not_started_and_the_first_is_named(
    student: Work, monkeypatch: pytest.MonkeyPatch
):
    class Sessions(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"[]")

    for name, folder in (
        ("JUPYTER_RUNTIME_DIR", student.lessons),
        ("ZERO_COPY_WORK", student.folder),
    ):
        monkeypatch.setenv(name, str(folder))
    monkeypatch.setattr(folders, "NOTEBOOKS", student.lessons)
    with socketserver.TCPServer(("127.0.0.1", 0), Sessions) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/"
        for root, runs in ((student.folder, True), (student.folder.parent, False)):
            told = {"url": url, "token": "abc", "root_dir": str(root)}
            (student.lessons / "jpserver-1.json").write_text(json.dumps(told))
            main([])
            with pytest.raises(SystemExit, match="abc") if runs else nullcontext():
                main(["--once"])
        server.shutdown()
    main(["--once"])


# --- the command ----------------------------------------------------------------------------------
@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the command writes to."""
    monkeypatch.setenv("ZERO_COPY_WORK", str(tmp_path / "own"))
    return tmp_path / "own"


def test_the_student_s_folder_follows_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(folders, "ROOT", tmp_path)
    monkeypatch.delenv("ZERO_COPY_WORK", raising=False)
    assert folders.work() == tmp_path / "my_lessons"
    assert folders.work().is_dir()
    monkeypatch.setenv("ZERO_COPY_WORK", "beside")
    assert folders.work() == tmp_path / "beside", (
        "in a kernel too, whose working directory is another"
    )
    monkeypatch.setenv("ZERO_COPY_WORK", str(tmp_path / "a" / "b"))
    assert folders.work() == tmp_path / "a" / "b"


def test_every_link_in_the_lessons_leads_somewhere(own: Path, capsys: pytest.CaptureFixture):
    main([])
    assert str(own) in capsys.readouterr().out
    found = 0
    for path in (*folders.lessons(own), own / "rust" / "README.md"):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".ipynb":
            text = "\n".join(
                "".join(cell["source"])
                for cell in read(path)["cells"]
                if cell["cell_type"] == "markdown"
            )
        for link in re.findall(r"""\]\(([^)\s]+)|(?:href|src)=["']([^"']+)""", text):
            target = unquote("".join(link).partition("#")[0])
            if target and "://" not in target:
                assert (path.parent / target).resolve().is_file(), f"{path.name}: {target}"
                assert (path.parent / target).resolve().is_relative_to(own), (
                    f"{path.name}: {target}"
                )
                found += 1
    assert found > 40


def test_the_command_makes_a_fresh_copy(own: Path, capsys: pytest.CaptureFixture):
    main(["--fresh", "2"])
    assert capsys.readouterr().out == f"A fresh copy: {own / '02_copy_a_big_file-fresh.ipynb'}\n"
    with pytest.raises(SystemExit, match="no lesson ''; there are: 00, 01"):
        main(["--fresh", ""])


def test_a_terminal_that_cannot_show_a_cell_shows_the_rest(
    student: Work, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ZERO_COPY_WORK", str(student.folder))
    monkeypatch.setattr(folders, "NOTEBOOKS", student.lessons)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    write(student, {"0-b": "x = '\ud800\N{SNAKE}'"}, "00_start_here.ipynb")
    issue(student, {"0-b": "another"}, "00_start_here.ipynb")
    issue(student, {"2-a": "new a"})
    main([])
    sys.stdout.flush()
    assert b"x = '?" in sys.stdout.buffer.getvalue()
    assert texts(student) == {"2-a": "new a"}


def test_a_folder_that_cannot_be_written_is_named(own: Path, request):
    if os.name == "posix" and os.geteuid() == 0:  # root may write anywhere
        own.parent.joinpath("own").write_text("a file")
    else:
        own.mkdir()
        own.chmod(0o500)
        request.addfinalizer(lambda: own.chmod(0o700))
    with pytest.raises(
        SystemExit, match=rf"{re.escape(str(own))}.*Set ZERO_COPY_WORK to another folder"
    ):
        main([])


def test_the_lessons_themselves_are_nobody_s_copies(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ZERO_COPY_WORK", "notebooks")
    with pytest.raises(SystemExit, match="make lab-sources"):
        main([])
    with pytest.raises(NoNotebook):
        read(folders.ROOT / "README.md")
