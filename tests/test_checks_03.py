"""Lesson 03: what its checks call right, and what they do where files never leave the cache."""

import re
from pathlib import Path

import numpy as np
import pytest

from helpers.teach import exercise
from helpers.teach.exercise_files import check
from helpers.teach.judging import Attempt
from helpers.units import MiB

lookup, window, report = (
    check(exercise(f"03.{name}").folder) for name in ("lookup", "window", "report")
)


def test_where_no_file_gets_cold_the_bytes_are_still_judged(monkeypatch: pytest.MonkeyPatch):
    for module in (lookup, report):
        monkeypatch.setattr(module, "is_cold", lambda path: False)
    one = exercise("03.lookup")
    other = exercise("03.report")
    right = one.check(one.made(one.solution_source), size=8 * MiB)
    assert right.outcome == "right"
    assert "could not be dropped" in right.because
    one_less = one.made(one.solution_source.replace("in positions)", "in positions[1:])"))
    assert one.check(one_less, size=8 * MiB).cause == "other-bytes"
    assert "recorded on another machine" in other.check(other.made(other.solution_source)).because


def test_recorded_loads_need_every_word_and_have_what_the_prompt_explains():
    explained = re.findall(r"(?m)^- `(\w+)`:", exercise("03.report").prompt)
    assert list(report.recorded()) == list(report.LOADS)
    assert all(list(one) == explained for one in report.recorded().values())
    one = exercise("03.report")
    words = {kind: word for kind, (word, _) in report.LOADS.items()}
    explain = one.made(one.solution_source)
    assert {kind: explain(load) for kind, load in report.recorded().items()} == words
    assert set(words.values()) == set(report.CAUSES)
    for kind, load in report.recorded().items():
        assert [word for word in report.CAUSES if report.fits(load, word)] == [words[kind]]


@pytest.mark.measured
def test_live_loads_have_the_causes_of_the_recorded_ones(data: Path):
    live = report.live_loads(Attempt(None, 0, 20, data))
    if not live:
        pytest.skip("no file gets cold here, or nobody counts what the disk gave")
    assert not [kind for kind, load in live.items() if not report.fits(load, report.LOADS[kind][0])]


@pytest.mark.parametrize("where", window.MISSED)
def test_the_largest_window_is_where_it_was_put(where: str, tmp_path: Path):
    width = 50_001
    path, most = window.with_largest(Attempt(None, 8 * MiB, 20, tmp_path), where, width)
    sums = np.insert(np.cumsum(np.fromfile(path, "u1"), dtype="i8"), 0, 0)
    found = sums[width:] - sums[:-width]
    assert found.max() == most
    assert (found == most).sum() == 1
    begin = int(found.argmax())
    end = path.stat().st_size - width
    at = {
        "start": 0,
        "end": end,
        "middle": 4 * MiB - width + 1,
        "late": 4 * MiB - 1,
        "multiple": 120 * width - 1,
    }
    assert begin == at[where]
