"""Lesson 01: what its checks call right."""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers import folders
from helpers.measure import here
from helpers.teach import exercise
from helpers.teach.exercise_files import check
from helpers.teach.judging import Attempt

report = check(exercise("01.report").folder)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where the generated files lie, because that is on a disk."""
    with tempfile.TemporaryDirectory(prefix="tests-", dir=folders.generated()) as made:
        yield Path(made)


def test_recorded_loaders_need_every_word_and_one_leaks_unseen():
    recorded = report.recorded()
    judged = {kind: report.judged_right(*pair) for kind, pair in recorded.items()}
    assert list(judged) == list(report.LOADERS)
    assert {word for *_, word in judged.values()} == set(report.WORDS)
    lent, own, word = judged["trades"]
    assert word == "leak" and abs(report.gains(*recorded["trades"])["VmRSS"]) < 0.01 * own < -lent


@pytest.mark.skipif(sys.platform != "linux", reason="no /proc here")
def test_live_loaders_are_judged_like_the_recorded_ones(folder: Path):
    if here(folder).file_system == "tmpfs":
        pytest.skip("a file on a tmpfs is shared memory")
    live = report.live_loaders(Attempt(None, 0, 20, folder))
    assert report.words_of(live) == report.words_of(report.recorded())
