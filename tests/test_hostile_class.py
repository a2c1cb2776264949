"""A class of vandals, graded by `make grade` beside students with right answers: no trick scores,
no student is lost, and no process or file is left behind.

An answer is a file in tests/hostile_class/NN.name/. Its first line names the trick, and its second
says what must come of it: a cause, or "not graded". None is executed in this process.
"""

import csv
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from test_judge import notebook
from test_sandbox import needed

from helpers.classroom.store import store
from helpers.folders import NOTEBOOKS, ROOT, scratch_folder
from helpers.teach import exercise

pytestmark = [pytest.mark.slow, needed]

ANSWERS = sorted(Path(__file__).with_name("hostile_class").glob("*/*.py"))
FILE = "02_copy_a_big_file.ipynb"
MARK = (  # in the environment of the grader and of all that it starts outside a sandbox
    "ZERO_COPY_CASE"
)
TRACE = "zero-copy-was-here"  # in the name of every file that a trick leaves
RIGHT = {"ada": "02.chunks", "noether": "10.holders"}  # the exercise that each of them solves
NAMES = [
    f"-rf $(touch {TRACE})",
    "line\nend \N{RIGHT-TO-LEFT OVERRIDE}turned",
    "<script>alert('vandal')%s%n{0}",
]
SECONDS = 2  # for a student's function


def deep(lines: Callable[[int], str], levels: int, last: str) -> str:
    return "".join(lines(level) for level in range(levels)) + " " * levels + last


def finally_in_finally(level: int) -> str:
    """The body of `finally` is compiled twice: a thousand bytes become a million copies."""
    inside = " " * (level + 1)
    return f"{inside}try:\n{inside} pass\n{inside}finally:\n"


STUB = "def copy_small(source, target):\n    return 1\n"
SCRIPT = {
    "output_type": "display_data",
    "metadata": {},
    "data": {"text/html": "<script>alert('vandal')</script>"},
}
NOTHING = ("not attempted",)
NOT_PYTHON = ("not-python",)
HOSTILE_NOTEBOOKS: dict[str, tuple[bytes, tuple[str, ...]]] = {  # and what must come of them
    "scripts, no cells, and an edition of its own": (
        json.dumps(
            {
                "nbformat": 4,
                "metadata": {"zero_copy": {"edition": "<b>1", "commit": "--output=/tmp/" + TRACE}},
                "cells": [
                    None,
                    1,
                    {},
                    {"cell_type": "code"},
                    [],
                    {"cell_type": "code", "outputs": [SCRIPT]},
                ],
            }
        ).encode(),
        NOTHING,
    ),
    "half a letter": (notebook("def copy_small(source, target):\n    return '\ud800'"), NOT_PYTHON),
    "attributes of attributes": (
        notebook("def copy_small(source, target):\n    source" + ".a" * 100_000),
        NOT_PYTHON,
    ),
    "twice twenty times": (notebook(STUB[:32] + deep(finally_in_finally, 20, " pass")), NOT_PYTHON),
    "functions in functions": (notebook("copy_small = " + "lambda: " * 10_000 + "1"), NOTHING),
    "a number by the page": (notebook(f"{STUB[:32]}    return 0x{'1' * 100_000}"), ("not graded",)),
    "decorators": (notebook("@print\n" * 10_000 + STUB), ("raised",)),
    "commands without end": (notebook("!ls\n" * 60_000), ("not graded",)),
    "names that need each other": (
        notebook(
            "".join(f"f{i} = lambda: f{i * 7 % 900}()\nf{i}.x = 1\n" for i in range(900)), STUB
        ),
        ("no-file",),
    ),
}


# --- the class ------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Graded:
    """What a run left. `expected` has each vandal's exercise and the causes or outcomes that it may
    have.
    """

    lines: dict[tuple[str, str], dict[str, str]]  # of gradebook.csv, by student and exercise
    causes: dict[tuple[str, str], str]
    expected: dict[str, tuple[str, tuple[str, ...]]]
    out: Path
    touched: bool  # a file that was handed in
    processes: list[str]
    files: list[Path]


@pytest.fixture(scope="module")
def graded() -> Iterator[Graded]:
    with scratch_folder("vandals") as folder:
        collected, out = folder / "collected", folder / "out"
        expected = {}
        for path in ANSWERS:
            text, key = path.read_text(encoding="utf-8"), path.parent.name
            expected[path.stem] = (
                key,
                tuple(text.splitlines()[1].removeprefix("# expect: ").split(" or ")),
            )
            check = f'exercise("{key}").check({exercise(key).name})'
            hand_in(collected / path.stem, key, text, check)
        for name, (content, outcomes) in HOSTILE_NOTEBOOKS.items():
            expected[name] = "02.chunks", outcomes
            (collected / name).mkdir()
            (collected / name / FILE).write_bytes(content)
        for name, key in RIGHT.items():
            hand_in(collected / name, key, exercise(key).solution_source)
        for name in NAMES:
            hand_in(collected / name, "02.chunks", "x = 1")
        before = contents(collected)
        places = {"ZERO_COPY_DATA": str(folder / "data"), "TMPDIR": str(folder / "temporary")}
        for place in places.values():
            os.mkdir(place)
        with open(folder / "log", "w") as log:
            ended = subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "helpers.classroom.grade",
                    collected,
                    "--out",
                    out,
                    "--timeout",
                    str(SECONDS),
                ],
                cwd=ROOT,
                env=os.environ | places | {MARK: str(folder)},
                stdout=log,
                stderr=log,
                timeout=1200,
            )
        assert ended.returncode == 0, (folder / "log").read_text()[-2000:]
        with open(out / "gradebook.csv", encoding="utf-8-sig", newline="") as file:
            lines = {(line["student"], line["exercise"]): line for line in csv.DictReader(file)}
        with store(out) as records:
            causes = {(one.student.key, one.exercise): one.verdict.cause for one in records.all()}
        touched = contents(collected) != before
        left = [path for place in places.values() for path in Path(place).rglob("*")]
        yield Graded(lines, causes, expected, out, touched, processes_of(folder), left)
        subprocess.run(["chmod", "-R", "u+rwx", folder], check=False)


def hand_in(folder: Path, key: str, *cells: str) -> None:
    folder.mkdir(parents=True)
    (lesson,) = NOTEBOOKS.glob(f"{key[:2]}_*.ipynb")
    (folder / lesson.name).write_bytes(notebook(*cells))


def processes_of(folder: Path) -> list[str]:
    """Processes of the grader and its sandboxes that are still there after a few seconds to end:
    found by the mark in their environment, or by a mount from that folder.
    """

    def running() -> Iterator[str]:
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                mounts = Path(f"/proc/{process.pid}/mountinfo").read_text(errors="replace")
                if process.environ().get(MARK) == str(folder) or f"{folder}/data/" in mounts:
                    yield f"{process.pid} {process.name()}"

    until = time.monotonic() + 5
    while (processes := list(running())) and time.monotonic() < until:
        time.sleep(0.1)
    return processes


def contents(folder: Path) -> dict[Path, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_each_trick_gets_the_verdict_that_it_must(graded: Graded):
    wrong = {}
    for student, (key, expected) in graded.expected.items():
        line = graded.lines[student, key]
        met = graded.causes[student, key] if line["outcome"] == "not yet" else line["outcome"]
        if met not in expected or "Error: reached" in line["because"]:
            wrong[student] = met, line["because"]
    assert not wrong


def test_only_right_answers_score_and_no_student_is_lost(graded: Graded):
    for (student, key), line in graded.lines.items():
        is_right = RIGHT.get(student) == key
        assert (line["outcome"] == "right", float(line["points"] or 0) > 0) == (
            is_right,
            is_right,
        ), line
    assert len({student for student, _ in graded.lines}) == len(graded.expected) + len(RIGHT) + len(
        NAMES
    )


def test_nothing_is_left_and_nothing_was_touched(graded: Graded):
    assert not graded.processes and not graded.files and not graded.touched
    places = (
        Path.home(),
        Path("/tmp"),
        Path("/var/tmp"),
        Path("/dev/shm"),
        ROOT,
        graded.out.parent,
    )
    found = [path for place in places if place.is_dir() for path in place.glob(f"*{TRACE}*")]
    assert not [*found, *(ROOT / "helpers").rglob(f"*{TRACE}*")]


def test_what_is_written_can_be_opened(graded: Graded):
    pages = [path.read_text(encoding="utf-8") for path in graded.out.rglob("*.html")]
    assert pages and not [
        page for page in pages if "<script>alert" in page or "javascript:" in page.split("<body")[0]
    ]
    for line in graded.lines.values():
        assert not [cell for cell in line.values() if cell.startswith(("=", "+", "-", "@", "\t"))]
