"""Answers that hide memory, or themselves, from whoever measures them from outside: none is called
right, and none is left for the teacher to grade.

An answer is a file in tests/hidden/NN.name/. Its first line names the trick, and its second the
causes that may come of it. None is executed in this process.
"""

from pathlib import Path

import pytest

from helpers.classroom import sandbox
from helpers.teach import exercise
from helpers.teach.source import source_named
from helpers.units import MiB

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("nothing_is_left"),
    pytest.mark.needs(tool="bubblewrap"),
]
FILES = sorted(Path(__file__).with_name("hidden").glob("*/*.py"))
ENOUGH = 96 * MiB  # three times the budget of 02.chunks


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_is_not_seen_is_not_right(path: Path):
    one = exercise(path.parent.name)
    text = path.read_text(encoding="utf-8")
    expected = text.splitlines()[1].removeprefix("# expect: ").split(" or ")
    verdict = one.verdict(
        source_named([("<cell 1>", text)], one.name),
        size=min(one.size, ENOUGH),
        fence=sandbox.fence,
    )
    assert verdict.outcome == "not yet" and verdict.cause in expected, (
        f"{verdict.cause}: {verdict!r}"
    )
