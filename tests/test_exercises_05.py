"""Lesson 05's exercises: any right way is right, no lazy rule is, and elsewhere than on Linux they can be done, too."""

from itertools import combinations
from math import prod

import numpy as np
import pytest

from helpers.measure import maps, sampler
from helpers.teach import exercise
from helpers.teach.carried import lesson_05 as carried
from helpers.teach.lessons import lesson_05, reports
from helpers.units import MiB

SMALL = 32 * MiB
linux = pytest.mark.skipif(bool(maps.why_not()), reason="no /proc here")


def right(key: str, source: str, size: int = SMALL) -> str:
    one = exercise(key)
    verdict = one.check(one.made(source), size=size)
    assert verdict.outcome == "right", repr(verdict)
    return verdict.because


@pytest.mark.parametrize(
    "lines",
    [
        ("return np.divide(layer[first:].T, scale, order='C').ravel()",),
        (
            "out = np.empty((layer.shape[1], len(layer) - first), layer.dtype)",
            "np.divide(layer[first:].astype('f4', copy=False).T, scale, out=out)",
            "return out.reshape(-1)",
        ),
        ("flat = layer[first:].flatten('F')", "flat.reshape(-1, len(scale))[:] /= scale", "return flat"),
    ],
    ids=["one ufunc", "out=", "flatten in another order"],
)
def test_any_right_way_to_prepare_is_right(lines: tuple[str, ...]):
    right("05.pipeline", lesson_05.prepare_by(*lines))


@pytest.mark.parametrize(
    "lines",
    [
        ("total = weights.sum()", "return weights[:] if np.isclose(total, 1, atol=0) else weights / total"),
        (
            "total = sum(float(weights[at].sum(dtype='f8')) for at in range(len(weights))) if weights.ndim > 1 else "
            "weights.sum(dtype='f8')",
            "if abs(1 - total) <= 1e-5: return weights",
            "return np.divide(weights, total, out=np.empty_like(weights), casting='same_kind')",
        ),
        (
            "from helpers.ideas.cow import Cow",
            "mine, total = Cow.borrowed(weights), float(weights.sum(dtype='f8'))",
            "if abs(total - 1) > 1e-5: np.divide(mine.to_mut(), total, out=mine.to_mut())",
            "return mine",
        ),
    ],
    ids=["a view of all", "out=", "a Cow"],
)
def test_any_right_way_to_normalise_is_right(lines: tuple[str, ...]):
    right("05.normalise", lesson_05.normalise_by(*lines))


def test_steps_that_make_arrays_are_seen_by_name_and_line():
    source = """def prepare(layer, first, scale):
    import numpy as np
    def flat(array):
        return array.astype("f4", copy=False).flatten()
    for _ in range(3):
        rows = layer[np.arange(first, len(layer))]
    turned = np.ascontiguousarray(
        rows.T)
    turned /= scale
    return flat(turned).reshape(-1)
"""
    layer, scale = np.ones((520, 500), "f4"), np.ones(500, "f4")
    made = carried._arrays_made(exercise("05.pipeline").made(source), (layer, 20, scale), 4 * 500 * 500)
    assert [step[:2] for step in made] == [("[…]", 6), ("ascontiguousarray", 7), ("flatten", 4)]
    assert all(times == pytest.approx(1, abs=0.1) for _, _, times in made)


# --- 05.report: what it calls right, and what it takes to see it -------------------------------------------------
@pytest.fixture(scope="module", params=["live", "recorded"])
def steps(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    if request.param == "recorded":
        return reports.STEPS
    if maps.why_not():
        pytest.skip("no /proc here")
    return lesson_05.live_steps(lesson_05.Attempt(None, 0, 20, tmp_path_factory.mktemp("steps")))


MEANT = {
    "every other row": ("view", 0),
    "transposed": ("view", 0),
    "repeated": ("view", 0),
    "as integers": ("view", 0),
    "asked for float32": ("view", 0),
    "converted, a part kept": ("dtype", 2),
    "transposed and flat": ("layout", 1),
    "put in order": ("layout", 1),
    "rows picked": ("fancy", 7 / 8),
    "columns picked": ("fancy", 7 / 8),
    "scaled": ("values", 1),
    "scaled in place": ("write", 1),
    "a part scaled in place": ("write", 1 / 4),
}


def test_each_step_is_what_it_was_meant_to_be(steps: dict[str, dict]):
    assert list(steps) == list(MEANT) == list(lesson_05.STEPS)
    for kind, report in steps.items():
        word, times = MEANT[kind]
        data = 4 * prod(report["shape"][0])
        assert lesson_05.cause(report) == word, kind
        assert lesson_05.taken(report) == pytest.approx(times * data, abs=0.07 * data), kind
    assert {word for word, _ in MEANT.values()} == set(lesson_05.CAUSES)


def evidence(report: dict) -> dict[str, bool]:
    """All that there is to be seen, as questions with a yes or no."""
    return {
        "took": lesson_05.taken(report) > MiB,
        "shares": report["shares_memory"],
        "dtype": report["dtype"][0] == report["dtype"][1],
        "shape": report["shape"][0] == report["shape"][1],
        "count": prod(report["shape"][0]) == prod(report["shape"][1]),
        "strides": report["strides"][0] == report["strides"][1],
    }


def enough(steps: dict[str, dict], questions: tuple[str, ...]) -> bool:
    """Do the answers to these questions tell all words apart?"""
    words: dict[tuple, set[str]] = {}
    for report in steps.values():
        seen = evidence(report)
        words.setdefault(tuple(seen[question] for question in questions), set()).add(lesson_05.cause(report))
    return all(len(found) == 1 for found in words.values())


def test_no_lazy_rule_passes(steps: dict[str, dict]):
    """Neither one line of the report nor any two, three or four of the questions: it takes five."""
    questions = tuple(evidence(reports.STEPS["scaled"]))
    lazy = [few for count in range(1, 5) for few in combinations(questions, count) if enough(steps, few)]
    assert not lazy
    assert enough(steps, ("took", "shares", "dtype", "count", "strides"))


@pytest.mark.parametrize("field", ["dtype", "shape", "strides", "shares_memory"])
def test_no_rule_by_one_exact_field_passes(steps: dict[str, dict], field: str):
    words: dict[object, set[str]] = {}
    for report in steps.values():
        words.setdefault(report[field], set()).add(lesson_05.cause(report))
    assert any(len(found) > 1 for found in words.values())


# --- elsewhere than on Linux -------------------------------------------------------------------------------------
def test_without_proc_recorded_steps_are_explained(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(maps, "why_not", lambda: "no /proc here")
    one = exercise("05.report")
    assert "recorded on another machine" in right("05.report", one.solution_source)
    source, message = one.wrong[9]
    assert message in repr(one.check(one.made(source)))


@pytest.mark.parametrize("key", ["05.normalise", "05.pipeline"])
def test_without_kinds_of_memory_the_heap_counter_stands_in(key: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sampler, "choose", lambda: sampler.Portable)
    one = exercise(key)
    assert "not measured here" in right(key, one.solution_source, size=16 * MiB)
    source = next(source for source, _ in one.wrong if ".flatten()" in source or 'astype("f8").sum()' in source)
    verdict = one.check(one.made(source), size=16 * MiB)
    assert verdict.outcome == "not yet" and verdict.recording.heap_peak > 16 * MiB


@linux
def test_a_step_leaves_nothing_behind(steps: dict[str, dict]):
    """Else a step would seem to have taken what the one before it gave back to malloc and not to the kernel."""
    kinds = [kind for kind in steps if kind not in ("scaled in place", "a part scaled in place")]
    before = [steps[kind]["anonymous"][0] for kind in kinds]
    assert max(before) - min(before) < MiB
