"""Answers made to fool a check: none is called right, hangs, leaves anything behind, or reaches the
caller.

Each is a file in tests/hostile/NN.name/ that defines the exercise's function; its first line names
the trick. None of them is executed in this process.
"""

import os
import signal
from multiprocessing import resource_tracker
from pathlib import Path

import psutil
import pytest

from helpers.teach import Exercise, exercise
from helpers.teach.judging import Verdict
from helpers.teach.source import source_named
from helpers.units import MiB

pytestmark = [
    pytest.mark.usefixtures("nothing_is_left"),
    pytest.mark.skipif(os.name != "posix", reason="the tricks are those of Unix"),
]
FOLDER = Path(__file__).with_name("hostile")
FILES = sorted(FOLDER.glob("*/*.py"))
SMALL, SOON = 32 * MiB, 4  # bytes and seconds
# of two things asked for, the one that it does plays no trick
HALF = {"files_swapped": "damaged files are refused"}


@pytest.fixture(scope="module", autouse=True)
def a_tracker() -> None:
    """Starts one now: a judge that makes shared memory would start one, and it would stay as long
    as this process.
    """
    resource_tracker.ensure_running()


def here() -> dict:
    """What a check must not change in its caller."""
    handlers = {
        number: signal.getsignal(number)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)
    }
    files = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    return {
        "folder": os.getcwd(),
        "environment": dict(os.environ),
        "handlers": handlers,
        "files": files,
    }


def started_under(token: str) -> list[str]:
    """The processes with this token in their environment, except this one."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get("ZERO_COPY_CASE") == token:
                found.append(str(process))
        except psutil.Error:
            continue
    return found


def checked(one: Exercise, text: str, file: str) -> Verdict:
    # so that what is held lasts long enough to be seen
    enough = 3 * SMALL if one.key.startswith("02.") else SMALL
    return one.check(
        source_named([(file, text)], one.name), size=min(one.size, enough), timeout=SOON
    )


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_trick_is_not_right_and_leaves_nothing(path: Path, monkeypatch: pytest.MonkeyPatch):
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# "), "the first line says the trick"
    monkeypatch.setenv("ZERO_COPY_CASE", str(path))
    one, before = exercise(path.parent.name), here()
    verdict = checked(one, text, str(path))
    assert verdict.outcome != "right" and verdict.half == HALF.get(path.stem, ""), repr(verdict)
    assert len(repr(verdict)) < 1500 and not started_under(str(path)) and here() == before


def test_nothing_of_the_student_s_is_executed_or_unpickled_by_the_caller(tmp_path: Path):
    log = tmp_path / "log"
    text = (FOLDER / "everywhere.txt").read_text(encoding="utf-8").replace("LOG", repr(str(log)))
    assert checked(exercise("02.report"), text, "<cell>").outcome == "not yet"
    pids = set(map(int, log.read_text().split()))
    assert pids and os.getpid() not in pids
