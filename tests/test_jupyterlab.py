"""A student in a real browser: opens lesson 02, runs it all, predicts, moves the slider, solves an
exercise.
"""

import re
from pathlib import Path

import pytest
from lab import cell, kernel_is_ready, opened, outputs, run, run_all
from playwright.sync_api import Browser, Page, expect

from helpers.publish import lessons
from helpers.teach import exercise

LESSON = "02_copy_a_big_file.ipynb"

pytestmark = [pytest.mark.slow, pytest.mark.notebooks]


def test_it_opens_on_the_lessons_and_asks_nothing(browser: Browser, address: str, home: Path):
    """What a student sees first: lesson 00, and in the file browser the lessons, their Rust
    programs, own code, and the desk sheet.
    """
    page = browser.new_page(viewport={"width": 1300, "height": 1000})
    page.goto(f"{address}/?token=student")
    kernel_is_ready(page, lessons()[0].name)
    listed = page.locator(".jp-DirListing-item").filter(visible=True)
    names = ("own_code", "rust", *(path.name for path in lessons()), "desk_sheet.md")
    expect(listed).to_have_text([re.compile(f"^{name}") for name in names])
    asked = page.locator("dialog, .jp-Dialog, .jp-toastContainer, .Toastify__toast")
    expect(asked.filter(visible=True)).to_have_count(0)
    assert not home.joinpath("settings").exists()
    assert not page.evaluate("() => jupyterapp.shell.currentWidget.context.model.dirty"), (
        "nothing is to be saved"
    )
    # a teacher's environment may have it
    log = re.sub(r"(?i).*grader.*", "", (home / "jupyter.log").read_text())
    assert "WARNING" not in log, "nor does the kernel warn in the terminal"
    page.close()


def test_lesson_02_opens_from_the_file_browser_and_runs(lab: Page):
    opened(lab, LESSON)
    run_all(lab)
    found = outputs(lab)
    assert len({output["cell"] for output in found}) > 20
    assert not [output["evalue"] for output in found if output["output_type"] == "error"]
    assert not [output for output in found if output.get("name") == "stderr"]
    assert not lab.complaints


def test_a_prediction_is_kept_and_drawn_and_late_after_the_measurement(lab: Page, home: Path):
    box = cell(lab, "copy-predict").get_by_label("slurp, MiB")
    box.fill("300")
    box.press("Enter")
    expect(cell(lab, "copy-predict")).to_contain_text("kept: slurp 300 MiB (late: made after")
    assert "300" in (home / "state" / "late.json").read_text()
    assert not list((home / "state").glob("predictions*"))
    drawn = cell(lab, "copy-three")
    run(lab)
    expect(drawn.locator("img")).to_have_attribute("alt", re.compile("you predicted 300 MiB"))
    expect(drawn).to_contain_text("You predicted 300 MiB for slurp")
    expect(drawn).to_contain_text("Late: made after")


def test_the_slider_changes_the_picture(lab: Page):
    swept = cell(lab, "copy-sweep")
    picture = swept.locator("img").filter(visible=True)
    before = (picture.get_attribute("alt"), picture.get_attribute("src"))
    slider = swept.get_by_role("slider")
    slider.focus()
    slider.press("ArrowLeft")
    slider.press("ArrowLeft")
    expect(picture).not_to_have_attribute("src", before[1])
    assert picture.get_attribute("alt") != before[0]


def test_an_exercise_goes_from_not_attempted_to_right(lab: Page):
    tried = cell(lab, "copy-chunks-try")
    verdict = tried.locator(".zc-verdict")
    expect(verdict).to_have_attribute("data-outcome", "not attempted")
    tried.locator(".cm-content").click()
    lab.keyboard.press("ControlOrMeta+a")
    lab.keyboard.insert_text(
        exercise("02.chunks").solution_source + '\n\nexercise("02.chunks").check(copy_small)'
    )
    run(lab)
    expect(verdict).to_have_attribute("data-outcome", "right")
    expect(verdict).to_contain_text("Right.")
    assert not lab.complaints
