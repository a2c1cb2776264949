"""Lesson 07: no shared memory is left behind, what is recorded is what happens, and a lazy rule does not pass."""

import os
import sys
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import pytest

from helpers.teach import exercise, exercise_files
from helpers.teach.judging import Attempt, Verdict

pytestmark = pytest.mark.usefixtures("nothing_is_left")

CART, REPORT = (exercise_files.check(exercise(key).folder) for key in ("07.cart", "07.report"))
AS_NAMED = {letter: letter for letter in REPORT.LETTERS}


def checked(key: str, source: str) -> Verdict:
    one = exercise(key)
    return one.check(one.made(source))


def wrong(key: str, name: str) -> str:
    return next(answer.source for answer in exercise(key).wrong if answer.name == name)


# --- 07.cart --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["unlinks", "closes_at_once"])
def test_no_block_is_left_whether_the_cart_unlinks_it_or_not(name: str, monkeypatch: pytest.MonkeyPatch):
    made = []

    class Noted(SharedMemory):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            made.append(self.name)

    monkeypatch.setattr(CART, "SharedMemory", Noted)
    assert checked("07.cart", wrong("07.cart", name)).outcome == "not yet"
    with pytest.raises(FileNotFoundError):
        SharedMemory(made[0])


def test_a_block_that_is_signed_up_with_the_resource_tracker_is_told_of():
    solution = exercise("07.cart").solution_source
    plain = checked("07.cart", solution)
    assert plain.outcome == "right" and ("resource tracker" in plain.because) == (os.name == "posix")
    if sys.version_info >= (3, 13):
        verdict = checked("07.cart", solution.replace("SharedMemory(name)", "SharedMemory(name, track=False)"))
        assert verdict.outcome == "right" and "resource tracker" not in verdict.because


def test_a_finalizer_that_cannot_close_prints_no_traceback(capfd: pytest.CaptureFixture[str]):
    checked("07.cart", wrong("07.cart", "drops_the_memory"))
    assert "Traceback" not in "".join(capfd.readouterr())


# --- 07.report ------------------------------------------------------------------------------------------------
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_what_is_recorded_is_what_happens(tmp_path: Path):
    cases = list(REPORT.recorded(AS_NAMED).values())
    live = REPORT.live_ends(Attempt(None, 0, 20, tmp_path), [case["steps"] for case in cases])
    assert [sorted(end) for end in live] == [sorted(case["end"]) for case in cases]


@pytest.mark.parametrize("live", [[], [("done",)]])
def test_where_they_cannot_be_run_recorded_ones_are_asked(live: list, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(REPORT, "live_ends", lambda *_: live)
    verdict = checked("07.report", exercise("07.report").solution_source)
    assert verdict.outcome == "right" and "recorded on another machine" in verdict.because


@pytest.mark.parametrize(
    "rule",
    [
        '"done"',
        '"BufferError", *made',
        '("BufferError", *made) if not any(what == "ndarray" for what, _, _ in steps) else ("crash", *made)',
        '"done" if any(what in ("release", "del") for what, _, _ in steps) else ("BufferError", *made)',
        '("BufferError", made[-1]) if made else "done"',
    ],
)
def test_a_lazy_rule_does_not_pass(rule: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(REPORT, "live_ends", lambda *_: [])
    source = f"""def explain(steps):
    made = [name for what, name, source in steps if source]
    made = [name for name in made if not any(step[:2] in (("release", name), ("del", name)) for step in steps)]
    return {rule}
"""
    verdict = checked("07.report", source)
    assert verdict.outcome == "not yet" and verdict.cause in REPORT.recorded(AS_NAMED)
