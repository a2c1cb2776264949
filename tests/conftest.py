"""What every test starts from."""

import builtins
import gc
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from chosen import commit, everything, some
from playwright.sync_api import Browser, Page, sync_playwright

from helpers import folders
from helpers.folders import ROOT
from helpers.units import MiB

# With two processes, each takes one file at a time: first holders, which searches a heap that grows with each file;
# then the files whose tests run alone; then the slow ones.
FIRST = ("holders", "lessons", "measure", "jupyterlab", "exercises", "versions", "handouts", "workers")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip

# The other slow files: `make test` runs some of them.
LONG = ("class_edition", "class_leaks", "class_outputs", "explorer_browser", "grade", "hostile", "hostile_class",
        "judge", "publish", "sandboxed", "serve_hard", "student_browser", "submissions", "workers")  # fmt: skip


def pytest_configure() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs with it ignored


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):  # one of several processes, pytest-xdist
        left_out = {f"test_{name}" for name in set(LONG) - set(some(LONG, 4, "files"))}
        items[:] = [item for item in items if item.path.stem not in left_out]
        order = [f"test_{name}" for name in FIRST]
        items.sort(key=lambda item: order.index(item.path.stem) if item.path.stem in order else len(order))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """While a test marked `alone` runs, the other process waits."""
    if not hasattr(item.config, "workerinput"):
        return (yield)
    import fcntl  # here, because Windows, which runs one test at a time, has no fcntl

    with (folders.generated() / ".alone").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX if item.get_closest_marker("alone") else fcntl.LOCK_SH)
        return (yield)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints what passed tests recorded with `record_property`."""
    for report in terminalreporter.getreports("passed"):
        for name, words in report.user_properties if report.when == "call" else ():
            terminalreporter.write_line(f"{name}: {words}")
    if not everything():
        terminalreporter.write_line(
            f"a part of the tests, chosen by commit {commit()[:9]}; make test-all takes them all"
        )


@pytest.fixture(scope="module", autouse=True)
def earlier_is_not_collected() -> None:
    """Objects left by earlier test files make a large heap, which every full collection would search."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A check leaves no file, whatever the student's function does. Its folder is on the generated files' disk."""
    with tempfile.TemporaryDirectory(prefix="tests-", dir=folders.generated()) as folder:
        monkeypatch.setenv("ZERO_COPY_DATA", folder)
        yield
        assert not list(Path(folder).iterdir())


@pytest.fixture
def room_for_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    """An IPython shell adds names of its own to its process; this removes them when the test ends."""
    for space, name in ((sys.modules, "__main__"), (vars(builtins), "display"), (vars(builtins), "__IPYTHON__")):
        monkeypatch.setitem(space, name, space.get(name))
    monkeypatch.delitem(vars(builtins), "_", raising=False)  # while it's there, IPython sets no `_` of its own


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Headless Chromium. Tests that need it are skipped only if there is none."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("no browser: neither chromium nor google-chrome is on the PATH")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """64 MiB on the disk; each MiB repeats a different byte."""
    path = tmp_path_factory.mktemp("measured") / "file.bin"
    with open(path, "wb") as out:
        for i in range(64):
            out.write(bytes([i]) * MiB)
        out.flush()
        os.fsync(out.fileno())
    return path


@pytest.fixture
def descendants() -> Callable[[], set[int]]:
    """The processes that measure has started, and their forks; other tests' browser may be running too."""

    def found() -> set[int]:
        pids = set()
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                if any(word.endswith("child.py") for word in process.cmdline()):
                    pids.add(process.pid)
        return pids

    return found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A student's folder, with copies of the lessons in my_lessons (02 with less to copy), and nothing that belongs to
    the person who runs the tests."""
    folder = tmp_path_factory.mktemp("student")
    work = folder / "my_lessons"
    environment = os.environ | {"ZERO_COPY_WORK": str(work)}
    subprocess.run([sys.executable, "-m", "helpers.teach.work"], env=environment, check=True)
    long = work / "02_copy_a_big_file.ipynb"
    long.write_text(long.read_text().replace('size(\\"256 MiB\\")', 'size(\\"64 MiB\\")'))
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
        "ZERO_COPY_STRICT": "0",  # as for a student; test_lessons.py asserts the claims, at full size
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "ZERO_COPY_DATA": str(data),
        "ZERO_COPY_STATE": str(home / "state"),
        "ZERO_COPY_WORK": str(home / "my_lessons"),
        **{f"JUPYTER_{name}_DIR": str(home / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")},
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "IPYTHONDIR": str(home / "ipython"),
    }


@pytest.fixture(scope="module")
def address(home: Path, environment: dict[str, str]) -> Iterator[str]:
    """JupyterLab with the options of `make lab`, on a free port."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (options,) = re.findall(
        r'^\t\$\(BIN\)/jupyter lab --notebook-dir="\$\(WORK\)" (.*) \$\(NO_DISPLAY\) \$\(AS_ROOT\) \$\(LABARGS\)$',
        makefile,
        re.M,
    )
    command = [sys.executable, "-m", "jupyterlab", f"--notebook-dir={home / 'my_lessons'}", *options.split(),
               "--no-browser", "--port=0", "--LabApp.expose_app_in_browser=True",
               *(["--allow-root"] if os.geteuid() == 0 else [])]  # fmt: skip
    log = home / "jupyter.log"
    with log.open("w") as out:
        server = subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT, cwd=home)
        try:
            yield _when_up(log, server)
        finally:
            server.terminate()
            try:
                server.wait(60)
            except subprocess.TimeoutExpired:
                server.kill()


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
    """JupyterLab in a browser that can reach only the server; its own errors are kept in `lab.complaints`."""
    context = browser.new_context(viewport={"width": 1300, "height": 1000})
    page = context.new_page()
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    context.route(lambda url: not url.startswith((address, "data:", "blob:")), lambda route: route.abort())
    page.goto(f"{address}/lab?reset&token=student")
    yield page
    context.close()


@pytest.fixture(scope="session", autouse=True)
def no_student(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The state folder of a student who has done nothing yet, so that no test reads or writes a real one."""
    folder = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZERO_COPY_STATE", str(folder))
        yield folder
