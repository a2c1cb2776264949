"""A grader that's killed again and again: what it has finished doesn't change, and in the end everything is as if it
had never been killed."""

import csv
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hand_ins import grader, hand_in, left_in, of_lesson, processes_of, rows

from helpers.classroom import sandbox
from helpers.classroom.store import Row
from helpers.scratch import room
from helpers.teach import exercise

pytestmark = [
    pytest.mark.skipif(bool(sandbox.why_not()) and "CI" not in os.environ, reason=sandbox.why_not()),
    pytest.mark.slow,
]

ASKED = exercise("01.yours")
MIX = {  # what students hand in as the exercise's function
    "right": [ASKED.solution_source, ASKED.right[0].body],
    "wrong": [answer.body for answer in ASKED.wrong[:3]],
    "leaves": [f"def {ASKED.name}(*_):\n    import os\n    os._exit(0)\n"],
    "never ends": [f"def {ASKED.name}(*_):\n    while True:\n        pass\n"],
    "nothing": ["x = 1"],
}
KILLS = 4
OPTIONS = ("--timeout", "3")


@pytest.fixture
def folder() -> Iterator[Path]:
    with room("restart") as path:
        yield path


def collected(folder: Path) -> Path:
    cells = [(f"{kind} {number}", cell) for kind, found in MIX.items() for number, cell in enumerate(found)]
    for name, cell in cells:
        hand_in(folder / "collected" / name / of_lesson(ASKED.key), cell)
    return folder / "collected"


def finished(out: Path) -> dict[tuple[str, str], Row]:
    """The rows that won't be judged again: see grade._is_final."""
    return {key: row for key, row in rows(out).items() if row.check and row.cause != "not-checked"}


def points(out: Path) -> list[tuple[str, ...]]:
    with open(out / "gradebook.csv", encoding="utf-8-sig", newline="") as file:
        return [(line["student"], line["exercise"], line["outcome"], line["points"]) for line in csv.DictReader(file)]


def test_a_grader_that_is_killed_goes_on_where_it_was(folder: Path):
    hand_ins, undisturbed, out = collected(folder), folder / "undisturbed", folder / "out"
    began = time.monotonic()
    assert grader(hand_ins, undisturbed, folder, *OPTIONS).wait(300) == 0
    took = time.monotonic() - began
    chance, before = random.Random(4), {}
    for _ in range(KILLS):
        process = grader(hand_ins, out, folder, *OPTIONS)
        time.sleep(chance.uniform(0, 2 * took / KILLS))
        process.kill()
        process.wait()
        assert not processes_of(folder)
        now = finished(out)
        assert {key: now.get(key) for key in before} == before
        before = now
    assert grader(hand_ins, out, folder, *OPTIONS).wait(300) == 0
    after, wanted = rows(out), rows(undisturbed)
    assert {key: after[key] for key in before} == before
    assert {key: (row.outcome, row.cause) for key, row in after.items()} == {
        key: (row.outcome, row.cause) for key, row in wanted.items()
    }
    assert points(out) == points(undisturbed) and len({row.outcome for row in wanted.values()}) == 3
    assert not left_in(folder) and not processes_of(folder)
