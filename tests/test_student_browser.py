"""A student in a real browser writes in a lesson, gets an exercise's starter back, and hands in;
then a new edition of the lesson comes.
"""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from lab import cell, opened, outputs, run
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from playwright.sync_api import Page, expect

from helpers.folders import ROOT
from helpers.teach import exercise
from helpers.teach.work import KEPT

LESSON = "00_start_here.ipynb"
CELLS = {
    "title": "# 00 Start here",
    "imports": "from helpers.teach import exercise, hand_in\nprint(6 * 7)",
    "why": "What the first edition says.",
    "grow-try": exercise("00.grow").cell,
    "recap": "## Recap",
}
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}

pytestmark = [pytest.mark.slow, pytest.mark.notebooks]


def issue(course: Path, day: str, cells: dict[str, str]) -> None:
    """Writes the edition of that day, with one lesson."""
    kinds = {"imports": new_code_cell, "grow-try": new_code_cell}
    made = [kinds.get(name, new_markdown_cell)(text, id=name) for name, text in cells.items()]
    notebook = new_notebook(cells=made, metadata={"kernelspec": KERNEL})
    (course / "notebooks" / LESSON).write_text(json.dumps(notebook))
    (course / "exercises" / "class-edition.toml").write_text(
        f'day = "{day}"\ncommit = "{"c0ffee40" * 5}"\n'
    )


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As much of an edition for a class as a student's folder needs."""
    course = tmp_path_factory.mktemp("course")
    shutil.copytree(
        ROOT / "helpers", course / "helpers", ignore=shutil.ignore_patterns("__pycache__")
    )
    (course / "notebooks").mkdir()
    (course / "exercises").mkdir()
    issue(course, "2026-09-01", CELLS)
    return course


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, course: Path) -> Path:
    """A student's folder, with a copy of that lesson."""
    home = tmp_path_factory.mktemp("student")
    assert "1 lesson copied" in work(
        course, os.environ | {"ZERO_COPY_WORK": str(home / "my_lessons")}
    )
    return home


def work(course: Path, environment: dict[str, str]) -> str:
    """Does what `make lab` does before JupyterLab starts. Returns what it says."""
    command = [sys.executable, "-m", "helpers.teach.work"]
    here = environment | {"PYTHONPATH": str(course)}
    return subprocess.run(
        command, cwd=course, env=here, capture_output=True, text=True, check=True
    ).stdout


def write(lab: Page, name: str, text: str) -> None:
    """Replaces the text of a cell, and runs it."""
    found = cell(lab, name)
    found.dblclick()
    found.locator(".cm-content").click()
    lab.keyboard.press("ControlOrMeta+a")
    lab.keyboard.insert_text(text)
    run(lab)


def add(lab: Page, after: str, text: str) -> str:
    """Adds a cell below another, and runs it. Returns its id."""
    cell(lab, after)
    lab.evaluate("() => jupyterapp.commands.execute('notebook:insert-cell-below')")
    lab.keyboard.press("Enter")
    lab.keyboard.insert_text(text)
    run(lab)
    return lab.evaluate("() => jupyterapp.shell.currentWidget.content.activeCell.model.id")


def texts(lab: Page) -> list[str]:
    return lab.evaluate(
        "() => jupyterapp.shell.currentWidget.content.widgets.map(cell => "
        "cell.model.sharedModel.getSource())"
    )


def said(lab: Page, name: str) -> str:
    """What the last output of a cell says."""
    found = [output for output in outputs(lab) if output["cell"] == name][-1]
    return found.get("evalue") or found["data"]["text/plain"]


def save(lab: Page) -> None:
    lab.evaluate("() => jupyterapp.commands.execute('docmanager:save')")


def test_a_starter_comes_back_in_a_new_cell_and_the_old_text_stays(lab: Page):
    opened(lab, LESSON)
    cell(lab, "imports")
    run(lab)
    answer = 'def grow():\n    return "mine"\n\n\nexercise("00.grow").check(grow)'
    write(lab, "grow-try", answer)
    asked = add(lab, "grow-try", 'exercise("00.grow").reset()')
    assert said(lab, asked).startswith("The starter is in a new cell below.")
    assert texts(lab)[3:6] == [answer, 'exercise("00.grow").reset()', exercise("00.grow").cell]


def test_what_is_handed_in_is_what_was_run(lab: Page, home: Path):
    asked = add(lab, "recap", 'hand_in("00", "Ada Lovelace")')
    assert "hold what you ran last" in said(lab, asked)
    save(lab)
    cell(lab, asked)
    run(lab)
    made = home / "my_lessons" / "hand-in" / "00_Ada-Lovelace.zip"
    assert said(lab, asked).startswith(f"{made} is ready: your notebook {LESSON} as you saved it")
    assert "00.grow: answered." in said(lab, asked)
    with lab.expect_download() as download:
        lab.get_by_role("link", name="Download 00_Ada-Lovelace.zip").click()
    assert Path(download.value.path()).read_bytes() == made.read_bytes()
    with zipfile.ZipFile(made) as archive:
        found = json.loads(archive.read(LESSON))
    assert found["metadata"]["zero_copy"]["edition"] == "2026-09-01 (c0ffee4)"
    assert "mine" in "".join(found["cells"][3]["source"])


def test_a_new_edition_waits_until_jupyterlab_has_closed_the_lesson(
    lab: Page, course: Path, home: Path, environment
):
    write(lab, "why", "What I say.")
    save(lab)
    before = (home / "my_lessons" / LESSON).read_bytes()
    new = {
        "title": "# 00 Start here, again",
        "why": "What the second edition says.",
        "rule": "**The rule:** look.",
    }
    issue(
        course,
        "2026-10-01",
        {name: (CELLS | new)[name] for name in ("title", "imports", "why", "rule", "grow-try")},
    )
    assert f"{LESSON} is open in JupyterLab" in work(course, environment)
    assert (home / "my_lessons" / LESSON).read_bytes() == before
    lab.evaluate("() => void jupyterapp.commands.execute('notebook:close-and-shutdown')")
    lab.locator(".jp-Dialog .jp-mod-accept").click()
    expect(lab.locator(".jp-Notebook")).to_have_count(0)
    told = work(course, environment)
    assert (
        f"{LESSON}: 3 cells brought in from the edition 2026-10-01 (c0ffee4). New or changed text: "
        "“# 00 Start here, again”" in told
    )
    assert "yours stays: “What I say.”" in told


def test_the_lesson_then_has_what_is_new_and_what_is_the_student_s(lab: Page):
    opened(lab, LESSON)
    answer, reset, starter, last = texts(lab)[5:]
    assert texts(lab)[:5] == [
        "# 00 Start here, again",
        CELLS["imports"],
        KEPT.format("make fresh LESSON=00"),
        "What I say.",
        "**The rule:** look.",
    ]
    assert "mine" in answer
    assert ".reset()" in reset
    assert starter == exercise("00.grow").cell
    assert "hand_in" in last
    assert [output["text"] for output in outputs(lab) if output["cell"] == "imports"] == ["42\n"]
    expect(cell(lab, "title")).to_contain_text("again")
    expect(lab.locator(".jp-Dialog").filter(visible=True)).to_have_count(0)
    assert not lab.complaints
