"""Lesson 02: what its checks call right, and what they say about chunks that take a little too
much.
"""

import pytest

from helpers.measure.jsonable import fields
from helpers.teach import exercise
from helpers.teach.exercise_files import check
from helpers.teach.judging import Attempt, kinds_are_told_apart
from helpers.units import MiB

one = exercise("02.report")
report = check(one.folder)
explain = one.made(one.solution_source)
TWO_CHUNKS = """
def copy_small(source, target):
    with open(source, "rb") as f, open(target, "wb") as g:
        while data := f.read(20 * 2**20):
            g.write(data)
"""


def test_recorded_processes_need_every_word_and_one_is_past_its_peak():
    recorded = report.recorded()
    assert list(recorded) == list(report.KINDS)
    assert {explain(text)[2] for text in recorded.values()} == set(report.WORDS)
    lent, own, _ = explain(recorded["let go"])
    assert fields(recorded["let go"])["VmHWM"] > 4 * (lent + own), "what it had is not what it has"


@pytest.mark.skipif(not kinds_are_told_apart(), reason="kinds of memory are not told apart here")
def test_live_processes_hold_memory_like_the_recorded_ones(data):
    live = report.live_reports(Attempt(None, 0, 20, data))
    for kind, text in report.recorded().items():
        assert explain(live[kind])[2] == explain(text)[2], kind


@pytest.mark.measured
@pytest.mark.skipif(not kinds_are_told_apart(), reason="kinds of memory are not told apart here")
def test_chunks_a_little_over_the_budget_are_told_what_counts():
    one = exercise("02.chunks")
    said = one.check(one.made(TWO_CHUNKS), size=128 * MiB)
    assert said.cause == "too-much-memory"
    assert "two at a time" in said.because
    slurp = next(answer for answer in one.wrong if answer.name == "slurp")
    assert "two at a time" not in one.check(one.made(slurp.source), size=128 * MiB).because
