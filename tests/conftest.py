"""What every test starts from."""

import builtins
import gc
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import nbformat
import psutil
import pytest
import stamps
import tools
from hypothesis import HealthCheck, settings
from IPython.core.interactiveshell import InteractiveShell
from nbformat import NotebookNode
from playwright.sync_api import Browser, Page, sync_playwright
from traitlets.config import Config
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from helpers import folders
from helpers.folders import ROOT
from helpers.publish import executed
from helpers.publish.book import chromium
from helpers.units import MiB

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# Two processes take one file at a time, these first: the slow ones, and holders, whose search takes
# longer on a heap that other files have filled. Of the files in ONE_BY_ONE they take one test at a
# time.
FIRST = (
    "holders",
    "holders_libraries",
    "versions",
    "hostile_class",
    "handouts",
    "rust",
    "hostile",
    "jupyterlab",
    "publish",
    "measure",
    "class_edition",
    "reopened_browser",
    "serve_hard",
    "magic",
    "class_outputs",
    "work",
    "teach",
)
ONE_BY_ONE = ("test_exercises", "test_hostile")

# The rule for every test that's marked `measured`: it passes if one of up to three measurements
# passes, and each one that failed is printed at the end. `make test` and `make test-all` run these
# tests with no other test beside them.
MEASUREMENTS = 3

is_unchanged = cache(stamps.is_unchanged)

# No deadline: it would be a limit on time. Derandomized: the same cases for everybody, at every
# run.
settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")


def pytest_configure() -> None:
    # a shell starts background jobs with it ignored
    signal.signal(signal.SIGINT, signal.default_int_handler)


class OneFileAtATime(LoadFileScheduling):
    """What pytest-xdist gives to one of its processes: the tests of a file, or a single test of
    those ONE_BY_ONE.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return nodeid if Path(file).stem in ONE_BY_ONE else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> OneFileAtATime:
    return OneFileAtATime(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sorts the tests as FIRST says, and those that are measured last. Applies the rule above, and
    one for Ctrl-C.
    """
    order = {f"test_{name}": place for place, name in enumerate(FIRST)}

    def place(item: pytest.Item) -> tuple[bool, int]:
        is_measured = item.get_closest_marker("measured") is not None
        return is_measured, 0 if is_measured else order.get(item.path.stem, len(order))

    for item in items:
        for fixture, tool in tools.FIXTURES.items():
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.needs(tool=tool))
        if item.get_closest_marker("measured"):
            item.add_marker(pytest.mark.flaky(reruns=MEASUREMENTS - 1))
        # Ctrl-C may come while a file is opened, before anything could close it
        if "interrupt" in item.name:
            item.add_marker(
                pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
            )
    items.sort(key=place)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("needs"):
        tools.require(marker.kwargs["tool"])
    for marker in item.iter_markers("stamped"):
        if is_unchanged(part := marker.kwargs["part"]):
            pytest.skip(
                f"unchanged since they were last tested: {part}; `make test-all` tests them all "
                "the same"
            )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints each measurement that failed, what passed tests recorded with `record_property`, and
    what was skipped.
    """
    for report in terminalreporter.getreports("rerun"):
        crash = getattr(report.longrepr, "reprcrash", None)
        told = crash.message if crash else report.longreprtext
        terminalreporter.write_line(f"measured again: {report.nodeid}\n  {told}")
    for report in terminalreporter.getreports("passed"):
        for name, words in report.user_properties if report.when == "call" else ():
            terminalreporter.write_line(f"{name}: {words}")
    skipped = [
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.getreports("skipped")
    ]
    if skipped:
        terminalreporter.section("what was not tested here, and what to install")
        for line in tools.summary(skipped):
            terminalreporter.write_line(line)


@pytest.fixture(scope="module", autouse=True)
def earlier_is_not_collected() -> None:
    """Objects left by earlier test files make a large heap, which every full collection would
    search.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture
def disk() -> Iterator[Path]:
    """An empty folder on the disk of the generated files, for what is measured: pytest's own may be
    in memory.
    """
    with tempfile.TemporaryDirectory(prefix="tests-", dir=folders.generated()) as folder:
        yield Path(folder)


@pytest.fixture
def own_folder(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder for generated files."""
    monkeypatch.setenv("ZERO_COPY_DATA", str(disk))


@pytest.fixture
def nothing_is_left(disk: Path, own_folder: None) -> Iterator[None]:
    """A check leaves no file, whatever the student's function does."""
    yield
    assert not list(disk.iterdir())


@pytest.fixture
def run_lesson(request: pytest.FixtureRequest) -> Callable[[Path], NotebookNode]:
    """Executes a lesson if it has changed, and each time that it's measured again; gives its copy
    with the outputs.
    """
    return lambda lesson: nbformat.read(
        executed(lesson, again=request.node.execution_count > 1), as_version=4
    )


@pytest.fixture
def room_for_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    """An IPython shell adds names of its own to its process; this removes them when the test
    ends.
    """
    for space, name in (
        (sys.modules, "__main__"),
        (vars(builtins), "display"),
        (vars(builtins), "__IPYTHON__"),
    ):
        monkeypatch.setitem(space, name, space.get(name))
    # while it's there, IPython sets no `_` of its own
    monkeypatch.delitem(vars(builtins), "_", raising=False)


@pytest.fixture
def shell(
    room_for_a_shell: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[InteractiveShell]:
    """IPython as in a kernel, except that it doesn't write to a student's history."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    shell = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))
    shell.reset(new_session=True)
    yield shell
    InteractiveShell.clear_instance()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Headless Chromium."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def file(data: Path) -> Path:
    """64 MiB on the disk; each MiB repeats a different byte."""
    path = data / "file.bin"
    with open(path, "wb") as out:
        for i in range(64):
            out.write(bytes([i]) * MiB)
        out.flush()
        os.fsync(out.fileno())
    return path


@pytest.fixture
def descendants() -> Callable[[], set[int]]:
    """The processes that this one has started, and theirs."""
    return lambda: {process.pid for process in psutil.Process().children(recursive=True)}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A student's folder, with copies of the lessons in my_lessons, and nothing that belongs to the
    person who runs the tests.
    """
    folder = tmp_path_factory.mktemp("student")
    environment = os.environ | {"ZERO_COPY_WORK": str(folder / "my_lessons")}
    subprocess.run([sys.executable, "-m", "helpers.teach.work"], env=environment, check=True)
    return folder


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """A folder on the disk of the generated files that no other process uses."""
    with tempfile.TemporaryDirectory(prefix="tests-", dir=folders.generated()) as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def environment(home: Path, data: Path) -> dict[str, str]:
    """The variables of a student who has no settings yet."""
    return os.environ | {
        "JUPYTER_TOKEN": "student",
        # as for a student; test_lessons.py asserts the claims, at full size
        "ZERO_COPY_STRICT": "0",
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "ZERO_COPY_DATA": str(data),
        "ZERO_COPY_SIZE": "64 MiB",
        "ZERO_COPY_STATE": str(home / "state"),
        "ZERO_COPY_WORK": str(home / "my_lessons"),
        **{
            f"JUPYTER_{name}_DIR": str(home / name.lower())
            for name in ("CONFIG", "DATA", "RUNTIME")
        },
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "IPYTHONDIR": str(home / "ipython"),
    }


@pytest.fixture(scope="module")
def address(home: Path, environment: dict[str, str]) -> Iterator[str]:
    """JupyterLab with the options of `make lab`, on a free port."""
    (options,) = re.findall(
        r'^\t.*\$\(BIN\)/jupyter lab --notebook-dir="\$\(WORK\)" (.*) \$\(NO_DISPLAY\)'
        r" \$\(AS_ROOT\) \$\(LABARGS\)$",
        (ROOT / "Makefile").read_text(encoding="utf-8"),
        re.M,
    )
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        f"--notebook-dir={home / 'my_lessons'}",
        *options.split(),
        "--no-browser",
        "--port=0",
        "--LabApp.expose_app_in_browser=True",
        *(["--allow-root"] if os.geteuid() == 0 else []),
    ]
    log = home / "jupyter.log"
    with log.open("w") as out:
        server = subprocess.Popen(
            command, env=environment, stdout=out, stderr=subprocess.STDOUT, cwd=home
        )
        try:
            yield when_up(log, server)
        finally:
            server.terminate()
            try:
                server.wait(60)
            except subprocess.TimeoutExpired:
                server.kill()


def when_up(log: Path, server: subprocess.Popen) -> str:
    """The address of a JupyterLab that logs there, once it answers."""
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
    """JupyterLab in a browser that can reach only the server; its own errors are kept in
    `lab.complaints`.
    """
    context = browser.new_context(viewport={"width": 1300, "height": 1000})
    page = context.new_page()
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    context.route(
        lambda url: not url.startswith((address, "data:", "blob:")), lambda route: route.abort()
    )
    page.goto(f"{address}/lab?reset&token=student")
    yield page
    context.close()


@pytest.fixture(scope="session", autouse=True)
def no_student(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The state folder of a student who has done nothing yet, so that no test reads or writes a
    real one.
    """
    folder = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZERO_COPY_STATE", str(folder))
        yield folder
