"""Lesson 05's checks: lines that make arrays are noticed, and no shortcut explains the steps."""

import ast
from itertools import combinations
from math import prod
from pathlib import Path

import numpy as np
import pytest

from helpers.measure import maps
from helpers.teach import exercise
from helpers.teach.exercise_files import check
from helpers.teach.judging import Attempt
from helpers.units import MiB

one = exercise("05.report")
pipeline = check(exercise("05.pipeline").folder)
report = check(one.folder)
explain = one.made(one.solution_source)


def test_lines_that_make_arrays_are_seen_in_a_function_of_the_function_too():
    source = """def prepare(layer, first, scale):
    def flat(array):
        return array.flatten()
    rows = layer[first:]
    scaled = flat(rows.T / scale) + 0
    return scaled.reshape(-1)
"""
    args = np.ones((520, 500), "f4"), 20, np.ones(500, "f4")
    made = pipeline.lines_that_make_arrays(
        exercise("05.pipeline").made(source), args, 4 * 500 * 500
    )
    assert made == {5: pytest.approx(1, abs=0.1), 3: pytest.approx(1, abs=0.1)}


@pytest.fixture(scope="module", params=["live", "recorded"])
def steps(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict]:
    if request.param == "recorded":
        return report.recorded()[0]
    if maps.why_not():
        pytest.skip("no /proc here")
    return report.live_steps(Attempt(None, 0, 20, tmp_path_factory.mktemp("steps")))


def test_the_prompt_s_report_is_one_of_them(steps: dict[str, dict]):
    shown = ast.literal_eval(
        exercise("05.report").prompt.split("```python")[1].split("```")[0].strip()
    )
    assert shown == report.recorded()[0]["put in order"]
    assert all(list(one) == list(shown) and type(one["shape"]) is tuple for one in steps.values())
    assert list(steps) == list(report.recorded()[1])


def test_no_four_questions_tell_all_words_apart(steps: dict[str, dict]):
    def answers(one: dict) -> dict:
        same = {
            name: pair[0] == pair[1]
            for name, pair in one.items()
            if name in ("dtype", "shape", "strides")
        }
        same["count"] = prod(one["shape"][0]) == prod(one["shape"][1])
        return same | {"took": report.taken(one) > MiB, "shares": one["shares_memory"]}

    def enough(questions: tuple[str, ...]) -> bool:
        told = {
            (*(answers(one)[question] for question in questions), explain(one)[1])
            for one in steps.values()
        }
        return len({answer[:-1] for answer in told}) == len(told)

    assert {kind: explain(one)[1] for kind, one in steps.items()} == report.recorded()[2]
    assert set(report.recorded()[2].values()) == set(report.WORDS)
    assert not [few for few in combinations(answers(steps["scaled"]), 4) if enough(few)]
    assert enough(("took", "shares", "dtype", "count", "strides"))


@pytest.mark.measured
@pytest.mark.skipif(bool(maps.why_not()), reason="no /proc here")
def test_a_step_leaves_nothing_behind(tmp_path: Path):
    """Otherwise memory that one step gave back to malloc, but not to the kernel, would be counted
    in the next step.
    """
    steps = report.live_steps(Attempt(None, 0, 20, tmp_path))
    before = [one["anonymous"][0] for kind, one in steps.items() if "in place" not in kind]
    assert max(before) - min(before) < MiB
