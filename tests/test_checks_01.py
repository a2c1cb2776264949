"""Lesson 01: what its checks call right."""

import sys
from pathlib import Path

import pytest

from helpers.measure.machine import here
from helpers.teach import exercise
from helpers.teach.exercise_files import check
from helpers.teach.judging import Attempt

one = exercise("01.report")
report = check(one.folder)
verdict = one.made(one.solution_source)


def test_recorded_loaders_need_every_word_and_one_leaks_unseen():
    recorded = report.recorded()
    judged = {kind: verdict(*pair) for kind, pair in recorded.items()}
    assert list(judged) == list(report.LOADERS)
    assert {word for *_, word in judged.values()} == set(report.WORDS)
    lent, own, word = judged["trades"]
    assert word == "leak"
    assert abs(report.gains(*recorded["trades"])["VmRSS"]) < 0.01 * own < -lent


@pytest.mark.skipif(sys.platform != "linux", reason="no /proc here")
def test_live_loaders_are_judged_like_the_recorded_ones(data: Path):
    if here(data).file_system == "tmpfs":
        pytest.skip("a file on a tmpfs is shared memory")
    assert report.grown(report.live_loaders(Attempt(None, 0, 20, data))) == report.grown(
        report.recorded()
    )
