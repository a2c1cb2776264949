"""What every test starts from."""

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
from playwright.sync_api import Browser, Page, sync_playwright

from helpers.folders import NOTEBOOKS

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, headless. The only reason to skip a test that needs it is that there is none."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("no browser: neither chromium nor google-chrome is on the PATH")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield chromium
        chromium.close()


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


@pytest.fixture(scope="session", autouse=True)
def no_student(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The state folder of a student who has done nothing yet, so that no test reads or writes a real one's."""
    folder = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZERO_COPY_STATE", str(folder))
        yield folder
