"""A notebook that is opened again, in a real browser: no kernel knows its widgets, and what they
showed is there.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from lab import cell, opened, outputs, run_all
from nbformat import write
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from playwright.sync_api import Page, expect

NAME = "reopened.ipynb"
NOT_SHOWN = re.compile("Error displaying|model not found|Loading widget|A Jupyter Widget")
CELLS = {
    "imports": (
        """import time
from helpers import widgets
from helpers.measure import Explorer
from helpers.show import Table, dial, page_explorer
from helpers.teach import exercise, predict, quiz"""
    ),
    "number": 'predict("00.peak", "How much memory does it take?")',
    "choice": 'predict("00.why", "Who takes it?", choices=["the heap", "the cache"])',
    "long": (
        f'predict("00.each", "How much?", each=["of {"anonymous " * 8}memory", "of the rest"])'
    ),
    "quiz": 'quiz("02.counter")',
    "prompt": 'exercise("08.liar")',
    "table": 'Table("Two.", ("a", "b"), [("one", "a row that is wider than its caption")])',
    "dial": (
        'dial("Types", {1: {"a call": 31.0}, 4: {"a call": 48.0}, 64: {"a call": 99.0}}, {"a'
        ' call": "ns"})'
    ),
    "explorer": "explorer = Explorer(16)\npage_explorer(explorer)",
    "bar": (
        'widgets.PROGRESS_DELAY_S = 0.1\nfor _ in widgets.progress_bar(range(20), desc="waiting"):'
        " time.sleep(0.1)"
    ),
}

pytestmark = [pytest.mark.slow, pytest.mark.notebooks]


@pytest.fixture(scope="module")
def notebook(home: Path) -> Path:
    path = home / "my_lessons" / NAME
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    cells = [new_code_cell(source, id=name) for name, source in CELLS.items()]
    cells.insert(0, new_markdown_cell("```\nx = 1\n```", id="text"))
    write(new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)
    return path


def save(lab: Page) -> None:
    lab.evaluate("() => jupyterapp.commands.execute('docmanager:save')")


def open_again(lab: Page, name: str = NAME) -> None:
    """Opens a notebook in a new page, which has to ask the kernel for the widgets."""
    lab.goto(f"{lab.url.partition('/lab')[0]}/lab?reset&token=student")
    opened(lab, name)


def shut_down(lab: Page) -> None:
    lab.evaluate("() => jupyterapp.shell.currentWidget.context.sessionContext.shutdown()")


def is_as_left(lab: Page) -> None:
    """What was answered, drawn and clicked last is in sight, once; and no error is."""
    expect(cell(lab, "number").get_by_text("300 MiB").filter(visible=True)).to_have_count(1)
    badges = cell(lab, "quiz").locator(".zc-badge").filter(visible=True)
    expect(badges).to_have_text(["✓ Right.", "✗ Not this one."])
    for name, alt in (("dial", "Marked: Types 4:"), ("explorer", r"1 anonymous \(page 3\)")):
        expect(cell(lab, name).locator("img").filter(visible=True)).to_have_attribute(
            "alt", re.compile(alt)
        )
    for name in CELLS:
        shown = cell(lab, name).locator(".jp-OutputArea-output")
        expect(shown.filter(has_text=NOT_SHOWN, visible=True)).to_have_count(0)


def test_while_the_kernel_lives_its_widgets_are_shown_and_not_their_copies(
    lab: Page, notebook: Path
):
    opened(lab, NAME)
    run_all(lab)
    assert not [output for output in outputs(lab) if output["output_type"] == "error"]
    box = cell(lab, "number").get_by_label("Your prediction, MiB")
    box.fill("300")
    box.press("Enter")
    cell(lab, "choice").get_by_label("the cache").click()
    cell(lab, "quiz").get_by_role("button", name="(c) It counts pages").click()
    cell(lab, "quiz").get_by_role("button", name="(b) It counts requests").click()
    cell(lab, "dial").get_by_role("slider").press("ArrowRight")
    cell(lab, "explorer").get_by_role("button", name="Write", exact=True).click()
    is_as_left(lab)
    save(lab)
    open_again(lab)
    is_as_left(lab)
    expect(cell(lab, "choice").get_by_label("the cache")).to_be_checked()
    assert not lab.complaints


def test_blocks_have_one_margin_and_captions_are_at_the_left(lab: Page, notebook: Path):
    style = "(element, name) => getComputedStyle(element)[name]"
    blocks = [cell(lab, name).locator("pre:visible").last for name in ("prompt", "text")]
    asked, told = (block.evaluate(style, "margin") for block in blocks)
    assert asked == told
    captions = [
        cell(lab, "table").locator("caption:visible"),
        cell(lab, "dial").locator("figcaption:visible"),
    ]
    assert {caption.evaluate(style, "textAlign") for caption in captions} <= {"left", "start"}


@pytest.mark.parametrize("width", [640, 420])
def test_what_is_filled_in_fits_a_narrow_window(lab: Page, notebook: Path, width: int):
    lab.set_viewport_size({"width": width, "height": 1000})
    lab.evaluate("() => jupyterapp.commands.execute('application:toggle-left-area')")
    for name in ("long", "choice", "quiz"):
        inside = (
            cell(lab, name)
            .locator(".zc-inputs")
            .locator("input, button, label, p")
            .filter(visible=True)
        )
        boxes = [each.bounding_box() for each in inside.all()]
        edge = cell(lab, name).locator(".jp-OutputArea-output").first.bounding_box()
        assert len(boxes) > 3 and all(
            box["x"] + box["width"] <= edge["x"] + edge["width"] for box in boxes
        ), name
        assert all(
            each.evaluate("one => one.scrollWidth <= one.clientWidth + 1") for each in inside.all()
        ), name
    lab.evaluate("() => jupyterapp.commands.execute('application:toggle-left-area')")
    lab.set_viewport_size({"width": 1300, "height": 1000})


@pytest.mark.parametrize("time", ["the first time", "after it was saved so"])
def test_without_the_kernel_the_copies_are_shown(lab: Page, notebook: Path, time: str):
    shut_down(lab)
    open_again(lab)
    is_as_left(lab)
    expect(cell(lab, "choice").get_by_text("☑ the cache")).to_be_visible()
    expect(lab.get_by_role("slider")).to_have_count(0)
    save(lab)


def test_a_teacher_sees_them_too(lab: Page, notebook: Path):
    """Another person's JupyterLab doesn't trust the notebook; here, because it isn't the file that
    was saved.
    """
    other = notebook.with_name("handed_in.ipynb")
    other.write_text(notebook.read_text().replace("How much memory", "How many bytes"))
    open_again(lab, other.name)
    assert not lab.evaluate("() => jupyterapp.shell.currentWidget.content.widgets[1].model.trusted")
    is_as_left(lab)
    expect(cell(lab, "choice").get_by_text("☑ the cache")).to_be_visible()


def test_nbconvert_writes_the_copies(notebook: Path):
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--stdout", str(notebook)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    page = BeautifulSoup(done.stdout, "html.parser").main
    assert "300 MiB" in page.get_text()
    assert "☑ the cache" in page.get_text()
    told = "".join(picture["alt"] for picture in page("img"))
    assert "Marked: Types 4:" in told
    assert "1 anonymous (page 3)" in told
    assert not NOT_SHOWN.search(str(page))
    assert "widget-view" not in str(page)
    assert "UserWarning" not in done.stderr


def test_a_progress_bar_was_shown_and_leaves_nothing(notebook: Path):
    (output,) = json.loads(notebook.read_text())["cells"][-1]["outputs"]
    assert output["data"].keys() == {"text/html"}
    assert not "".join(output["data"]["text/html"])
