"""Hand-ins for tests and benchmarks, and the grader as a process that can be killed."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
from test_judge import notebook

from helpers.classroom.store import Row, store
from helpers.folders import NOTEBOOKS, ROOT

MARK = "ZERO_COPY_CASE"  # in the environment of a grader, and of everything it starts outside a sandbox


def of_lesson(key: str) -> str:
    """The file name of the lesson that an exercise belongs to."""
    return next(path.name for path in NOTEBOOKS.glob(f"{key[:2]}_*.ipynb"))


def hand_in(at: Path, *cells: str) -> None:
    at.parent.mkdir(parents=True)
    at.write_bytes(notebook(*cells))


def grader(collected: Path, out: Path, folder: Path, *options: str) -> subprocess.Popen:
    """Starts `make grade`. Its generated data and temporary files go to `folder`, and its output to `folder`/log."""
    places = {"ZERO_COPY_DATA": folder / "data", "TMPDIR": folder / "temporary"}
    for place in places.values():
        place.mkdir(exist_ok=True)
    environment = os.environ | {name: str(place) for name, place in places.items()} | {MARK: str(folder)}
    command = [sys.executable, "-m", "helpers.classroom.grade", collected, "--out", out, *options]
    with open(folder / "log", "a") as log:
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)


def left_in(folder: Path) -> list[Path]:
    """The generated data and temporary files that are left."""
    return [path for name in ("data", "temporary") for path in (folder / name).rglob("*")]


def processes_of(folder: Path, patience: float = 5) -> list[str]:
    """Processes of this folder's grader and its sandboxes that are still there after a few seconds to end."""
    until = time.monotonic() + patience
    while (found := list(_processes_of(str(folder)))) and time.monotonic() < until:
        time.sleep(0.1)
    return found


def _processes_of(folder: str) -> Iterator[str]:
    """Finds them by the mark in their environment, or by a mount from that folder."""
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            mounts = Path(f"/proc/{process.pid}/mountinfo").read_text(errors="replace")
            if process.environ().get(MARK) == folder or f"{folder}/data/" in mounts:
                yield f"{process.pid} {process.name()}"


def rows(out: Path) -> dict[tuple[str, str], Row]:
    """What has been graded, by student and exercise."""
    with store(out) as known:
        return {(row.student, row.exercise): row for row in known.rows()}
