"""The page explorer in a real browser: clicks act on real pages, and what's shown is the state of
those pages.
"""

import mmap
import re
from pathlib import Path

import nbformat
import pytest
from lab import cell, opened, outputs, run
from playwright.sync_api import Locator, Page, expect

from helpers.measure import maps
from helpers.units import size

NAME = "explore.ipynb"
SHOW = """
from helpers.measure import Explorer
from helpers.show import page_explorer

explorer = Explorer(16)
page_explorer(explorer)
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.notebooks,
    pytest.mark.skipif(bool(maps.why_not()), reason=maps.why_not() or "pages can be read"),
]


@pytest.fixture(scope="module")
def explorer(lab: Page, home: Path) -> Locator:
    """The widget, in a notebook with two cells: the one that shows it, and one that closes it and
    is not run yet.
    """
    texts = {"show": SHOW.strip(), "close": "explorer.close()"}
    cells = [nbformat.v4.new_code_cell(text, id=name) for name, text in texts.items()]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    nbformat.write(
        nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}),
        home / "my_lessons" / NAME,
    )
    opened(lab, NAME)
    cell(lab, "show")
    run(lab)
    return lab.locator(".zc-explorer")


def click(lab: Page, name: str) -> Locator:
    """Clicks a button of the explorer. Returns its cell."""
    shown = cell(lab, "show")
    shown.get_by_role("button", name=name, exact=True).click()
    return shown


def action(shown: Locator) -> Locator:
    """The name of the action whose counts are shown."""
    return shown.locator(".zc-counters strong").first


def counted(shown: Locator) -> list:
    """The pages that the explorer shows: [my anonymous, file-backed], the cache's, [the child's
    ...].
    """

    def pages(*names: str) -> list[int]:
        return [
            size(shown.locator(f'[data-counter="{name}"]').inner_text()) // mmap.PAGESIZE
            for name in names
        ]

    child = shown.locator('[data-counter="child\'s anonymous"]').count()
    return [
        pages("my anonymous", "my file-backed"),
        *pages("page cache"),
        *([pages("child's anonymous", "child's file-backed")] if child else []),
    ]


def test_touch_write_and_fork_show_what_they_did(lab: Page, explorer: Locator):
    expect(explorer.locator("img")).to_have_attribute("alt", re.compile("my page table: 16 absent"))
    expect(explorer.get_by_role("button", name="Child writes", exact=True)).to_be_disabled()
    seen = []
    for page, button, name in (
        (3, "Touch", "touch 3"),
        (5, "Write", "write 5"),
        (5, "Fork", "fork"),
        (6, "Child writes", "child writes 6"),
        (5, "Drop", "drop"),
    ):
        box = cell(lab, "show").get_by_label("Page, 0 to 15", exact=True)
        box.fill(str(page))
        box.press("Tab")
        shown = click(lab, button)
        expect(action(shown)).to_have_text(name)
        seen.append(counted(shown))
    touched, written, forked, child_wrote, dropped = seen
    assert touched[0][0] == 0 < touched[0][1], "a page that was read is lent"
    assert written[0][0] == forked[0][0] == forked[2][0] == 1, (
        "the written page is a copy, and the child has it too"
    )
    assert (child_wrote[0][0], child_wrote[2][0]) == (1, 2)
    assert dropped[0] == [0, 0]
    assert dropped[2] == child_wrote[2]
    expect(explorer.locator("img")).to_have_attribute(
        "alt", re.compile("child's page table: 2 anonymous")
    )
    assert not lab.complaints


def test_what_is_refused_is_said_and_nothing_breaks(lab: Page, explorer: Locator):
    shown = cell(lab, "show")
    shown.get_by_role("button", name="shared", exact=True).click()
    expect(action(shown)).to_have_text("map shared")
    expect(shown.get_by_role("button", name="Child writes", exact=True)).to_be_disabled()
    cell(lab, "close")
    run(lab)
    click(lab, "Touch")
    expect(cell(lab, "show").get_by_role("alert")).to_contain_text("this explorer is closed")
    assert not [output["evalue"] for output in outputs(lab) if output["output_type"] == "error"]
    assert not lab.complaints


def test_it_is_worked_from_the_keyboard_and_fits_a_narrow_window(lab: Page, explorer: Locator):
    lab.set_viewport_size({"width": 800, "height": 1000})
    shown = cell(lab, "show")
    shown.get_by_label("Page, 0 to 15", exact=True).focus()
    lab.keyboard.press("Tab")
    expect(shown.get_by_role("button", name="Touch", exact=True)).to_be_focused()
    # Only its own buttons: the cell has others, in a toolbar that JupyterLab removes when the
    # window is narrow.
    lab.wait_for_function(
        """() => { const right = node => node.getBoundingClientRect().right;
             const explorer = document.querySelector('.zc-explorer');
             const buttons = [...explorer.querySelectorAll('button')];
             return right(explorer) <= right(explorer.closest('.jp-Cell'))
                 && right(explorer) <= window.innerWidth
                 && buttons.length > 10
                 && buttons.every(button => right(button) <= right(explorer)) }"""
    )
