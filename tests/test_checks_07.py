"""Lesson 07: no shared memory is left behind, the records match what happens, and a lazy rule
doesn't pass.
"""

import os
from pathlib import Path

import pytest

from helpers.teach import exercise, exercise_files
from helpers.teach.judging import Attempt, Verdict

pytestmark = pytest.mark.usefixtures("nothing_is_left")

REPORT = exercise_files.check(exercise("07.report").folder)


def checked(key: str, source: str) -> Verdict:
    one = exercise(key)
    return one.check(one.made(source))


def test_a_finalizer_that_cannot_close_prints_no_traceback(capfd: pytest.CaptureFixture[str]):
    wrong = next(answer for answer in exercise("07.cart").wrong if answer.name == "closes_at_once")
    assert (
        checked(
            "07.cart", wrong.source.replace("self.memory.close()", "self.memory = None")
        ).outcome
        == "not yet"
    )
    assert "Traceback" not in "".join(capfd.readouterr())


def test_a_block_that_is_signed_up_with_the_resource_tracker_is_told_of():
    solution = exercise("07.cart").solution_source
    assert ("resource tracker" in checked("07.cart", solution).because) == (os.name == "posix")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_what_is_recorded_is_what_happens(tmp_path: Path):
    cases = REPORT.recorded({letter: letter for letter in REPORT.LETTERS}).values()
    live = REPORT.live_ends(Attempt(None, 0, 20, tmp_path), [case["steps"] for case in cases])
    assert [sorted(end) for end in live] == [sorted(case["end"]) for case in cases]


@pytest.mark.parametrize("live", [[], [("done",)]])
def test_where_they_cannot_be_run_recorded_ones_are_asked(
    live: list, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(REPORT, "live_ends", lambda *_: live)
    verdict = checked("07.report", exercise("07.report").solution_source)
    assert verdict.outcome == "right"
    assert "recorded on another machine" in verdict.because


RULES = [
    (
        '("BufferError", *made) if not any(what == "ndarray" for what, _, _ in steps) else'
        ' ("crash", *made)'
    ),
    (
        '"done" if any(what in ("release", "del") for what, _, _ in steps) else ("BufferError",'
        " *made)"
    ),
    '("BufferError", made[-1]) if made else "done"',
]


@pytest.mark.parametrize("rule", RULES)
def test_a_lazy_rule_does_not_pass(rule: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(REPORT, "live_ends", lambda *_: [])
    source = f"""def explain(steps):
    made = [name for what, name, source in steps if source]
    made = [name for name in made
            if not any(step[:2] in (("release", name), ("del", name)) for step in steps)]
    return {rule}
"""
    assert checked("07.report", source).outcome == "not yet"
