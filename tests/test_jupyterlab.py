"""A student in a real browser: opens lesson 02, runs it all, predicts, moves the slider, solves an exercise."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from helpers.folders import NOTEBOOKS
from helpers.teach import exercise

LESSON = "02_copy_a_big_file.ipynb"
MINUTES = 60_000  # milliseconds, as Playwright counts

pytestmark = [pytest.mark.browser, pytest.mark.notebooks]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A student's folder: a copy of the lessons, and nothing of the person who runs the tests."""
    folder = tmp_path_factory.mktemp("student")
    shutil.copytree(NOTEBOOKS, folder / "notebooks", ignore=shutil.ignore_patterns(".*"))
    news = folder / "settings" / "@jupyterlab" / "apputils-extension" / "notification.jupyterlab-settings"
    news.parent.mkdir(parents=True)
    news.write_text(json.dumps({"fetchNews": "false", "checkForUpdates": False}))
    return folder


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    """JupyterLab as `make lab` starts it, on a free port."""
    environment = os.environ | {
        "JUPYTER_TOKEN": "student",
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "ZERO_COPY_STATE": str(home / "state"),
        **{f"JUPYTER_{name}_DIR": str(home / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")},
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "IPYTHONDIR": str(home / "ipython"),
    }
    command = [sys.executable, "-m", "jupyterlab", f"--notebook-dir={home / 'notebooks'}", "--no-browser", "--port=0",
               "--LabApp.expose_app_in_browser=True", *(["--allow-root"] if os.geteuid() == 0 else [])]  # fmt: skip
    log = home / "jupyter.log"
    with log.open("w") as out:
        server = subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT, cwd=home)
        try:
            yield _when_up(log, server)
        finally:
            server.terminate()
            server.wait(30)


def _when_up(log: Path, server: subprocess.Popen) -> str:
    until = time.monotonic() + 60
    while time.monotonic() < until and server.poll() is None:
        if found := re.search(r"http://(?:localhost|127\.0\.0\.1):\d+", log.read_text()):
            try:
                urllib.request.urlopen(f"{found[0]}/api?token=student", timeout=5).close()
                return found[0]
            except OSError:
                pass
        time.sleep(0.2)
    raise AssertionError(f"JupyterLab did not start:\n{log.read_text()}")


@pytest.fixture(scope="module")
def lab(browser: Browser, address: str) -> Iterator[Page]:
    """JupyterLab in a browser that reaches nothing but the server; its own errors are kept in `lab.complaints`."""
    context = browser.new_context(viewport={"width": 1300, "height": 1000})
    page = context.new_page()
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    context.route(lambda url: not url.startswith((address, "data:", "blob:")), lambda route: route.abort())
    page.goto(f"{address}/lab?token=student")
    yield page
    context.close()


def cell(lab: Page, name: str) -> Locator:
    """A cell by its id; JupyterLab renders only what is near the window, so it is scrolled to first."""
    index = lab.evaluate(
        "name => jupyterapp.shell.currentWidget.content.widgets.findIndex(cell => cell.model.id === name)", name
    )
    assert index >= 0, f"no cell {name}"
    lab.evaluate("index => { jupyterapp.shell.currentWidget.content.activeCellIndex = index }", index)
    lab.evaluate("index => jupyterapp.shell.currentWidget.content.scrollToItem(index, 'start')", index)
    return lab.locator(f"[data-windowed-list-index='{index}']")


def outputs(lab: Page) -> list[dict]:
    """Every output in the notebook, with its cell's id."""
    return lab.evaluate(
        """() => jupyterapp.shell.currentWidget.content.widgets.flatMap(cell => cell.model.type !== 'code' ? [] :
             cell.model.outputs.toJSON().map(output => ({cell: cell.model.id, ...output})))"""
    )


def run(lab: Page) -> None:
    """The active cell; until it has run."""
    lab.evaluate("() => jupyterapp.commands.execute('notebook:run-cell')")


def test_lesson_02_opens_from_the_file_browser_and_runs(lab: Page):
    lab.locator(".jp-DirListing-item", has_text=LESSON).dblclick(timeout=MINUTES)
    lab.wait_for_function(
        "name => jupyterapp.shell.currentWidget?.context?.path === name && jupyterapp.shell.currentWidget.content",
        arg=LESSON,
    )
    lab.evaluate(
        """async () => { const { context, sessionContext } = jupyterapp.shell.currentWidget;
             await context.ready; await sessionContext.ready; await sessionContext.session.kernel.info }"""
    )
    lab.set_default_timeout(4 * MINUTES)
    lab.evaluate("() => jupyterapp.commands.execute('notebook:run-all-cells')")
    found = outputs(lab)
    assert len({output["cell"] for output in found}) > 20
    assert not [output for output in found if output["output_type"] == "error"]
    assert not [output for output in found if output.get("name") == "stderr"]
    assert not lab.complaints


def test_a_prediction_is_kept_and_drawn(lab: Page, home: Path):
    box = cell(lab, "copy-predict").get_by_label("slurp, MiB")
    box.fill("300")
    box.press("Enter")
    expect(cell(lab, "copy-predict")).to_contain_text("300 MiB")
    assert "300" in next((home / "state").glob("predictions*")).read_text()
    drawn = cell(lab, "copy-three")
    run(lab)
    expect(drawn.locator("img")).to_have_attribute("alt", re.compile("you predicted 300 MiB"), timeout=MINUTES)
    expect(drawn).to_contain_text("You predicted 300 MiB")


def test_the_slider_changes_the_picture(lab: Page):
    swept = cell(lab, "copy-sweep")
    picture = swept.locator("img")
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
    lab.keyboard.insert_text(exercise("02.chunks").solution_source + '\n\nexercise("02.chunks").check(copy_small)')
    run(lab)
    expect(verdict).to_have_attribute("data-outcome", "right", timeout=MINUTES)
    expect(verdict).to_contain_text("Right.")
    assert not lab.complaints
