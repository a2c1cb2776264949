"""Lesson 05's checks: what makes an array is seen in the student's source, and no lazy rule explains the steps."""

import linecache
from collections.abc import Callable
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

pipeline, report = (check(exercise(key).folder) for key in ("05.pipeline", "05.report"))


# --- 05.pipeline: which expressions make arrays ------------------------------------------------------------------
@pytest.fixture
def in_a_cell(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Callable]:
    """Makes the function `prepare` of a source that is known, as that of a notebook's cell is."""

    def made(source: str) -> Callable:
        monkeypatch.setitem(linecache.cache, "<05.pipeline>", (len(source), None, source.splitlines(True), ""))
        return exercise("05.pipeline").made(source)

    return made


def seen(prepare: Callable) -> list[tuple]:
    layer, scale = np.ones((520, 500), "f4"), np.ones(500, "f4")
    return pipeline.makes_arrays(prepare, (layer, 20, scale), 4 * 500 * 500)


SOURCE = """def prepare(layer, first, scale):
    import numpy as np
    def flat(array):
        return array.astype("f4", copy=False).flatten()
    for _ in range(3):
        größe = layer[np.arange(first, len(layer))]
    turned = None or np.ascontiguousarray(
        größe.T)
    part = turned[2:-2]
    turned /= scale
    half = größe[2:] / 2; more = (
        half
        .copy()
    )
    return flat(turned).reshape(-1)
"""


def test_expressions_that_make_arrays_are_seen_where_they_stand(in_a_cell: Callable):
    made = seen(in_a_cell(SOURCE))
    assert [(place[0], *pipeline.expression(SOURCE, *place)) for *place, _ in made] == [
        (6, "layer[np.arange(first, len(layer))]", "[…]"),
        (7, "np.ascontiguousarray( größe.T)", "ascontiguousarray"),
        (11, "größe[2:] / 2", "operator"),
        (made[3][0], "half .copy()", "copy"),  # in line 12 or 13: Pythons differ in where such a call begins
        (4, 'array.astype("f4", copy=False).flatten()', "flatten"),
    ]
    assert all(times == pytest.approx(1, abs=0.1) for *_, times in made)


@pytest.mark.parametrize(
    ("lines", "fact"),
    [
        ("return (layer[np.arange(first, len(layer))].T / scale).flatten()", "A slice is a view"),
        ('return (layer[first:].astype("f4").T / scale).flatten()', "even if the dtype is right already"),
        ("return (layer[first:].T / scale).flatten()", "`flatten` copies always"),
        ("return np.divide(np.array(layer[first:].T), scale)", "`a / b` and `np.divide` make a new array"),
    ],
)
def test_one_of_the_hidden_copies_is_explained(in_a_cell: Callable, lines: str, fact: str):
    prepare = in_a_cell(f"import numpy as np\ndef prepare(layer, first, scale):\n    {lines}\n")
    told = pipeline.hidden_copies(seen(prepare), prepare)
    assert fact in told and told.startswith("New arrays came from `") and "in line 3" in told


def test_where_the_source_is_not_known_lines_are_told(in_a_cell: Callable):
    prepare = in_a_cell("def prepare(layer, first, scale):\n    return (layer[first:].T / scale).flatten()\n")
    linecache.cache.pop("<05.pipeline>")
    assert pipeline.hidden_copies(seen(prepare), prepare).startswith("New arrays came from line 2. ")


# --- 05.report: what it calls right, and what it takes to see it -------------------------------------------------
@pytest.fixture(scope="module", params=["live", "recorded"])
def steps(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    if request.param == "recorded":
        return report.recorded()
    if maps.why_not():
        pytest.skip("no /proc here")
    return report.live_steps(Attempt(None, 0, 20, tmp_path_factory.mktemp("steps")))


MEANT = {  # the word, and what is taken, of the data
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
    assert list(steps) == list(MEANT) == list(report.KINDS)
    for kind, one in steps.items():
        word, times = MEANT[kind]
        data = 4 * prod(one["shape"][0])
        assert report.word(one) == word, kind
        assert report.taken(one) == pytest.approx(times * data, abs=0.07 * data), kind
    assert {word for word, _ in MEANT.values()} == set(report.WORDS)


def test_no_lazy_rule_passes(steps: dict[str, dict]):
    """Neither one line of the report nor any two, three or four of these questions: it takes five."""
    evidence = [
        {
            "took": report.taken(one) > MiB,
            "shares": one["shares_memory"],
            "dtype": one["dtype"][0] == one["dtype"][1],
            "shape": one["shape"][0] == one["shape"][1],
            "count": prod(one["shape"][0]) == prod(one["shape"][1]),
            "strides": one["strides"][0] == one["strides"][1],
        }
        for one in steps.values()
    ]
    meant = [report.word(one) for one in steps.values()]

    def enough(questions: tuple[str, ...]) -> bool:
        """Do the answers to these questions tell all words apart?"""
        told = {(*(seen[question] for question in questions), word) for seen, word in zip(evidence, meant, strict=True)}
        return len({answers[:-1] for answers in told}) == len(told)

    assert not [few for count in range(1, 5) for few in combinations(evidence[0], count) if enough(few)]
    assert enough(("took", "shares", "dtype", "count", "strides"))


@pytest.mark.parametrize("field", ["dtype", "shape", "strides", "shares_memory"])
def test_no_rule_by_one_exact_field_passes(steps: dict[str, dict], field: str):
    told = {(one[field], report.word(one)) for one in steps.values()}
    assert len({value for value, _ in told}) < len(told)


@pytest.mark.skipif(bool(maps.why_not()), reason="no /proc here")
def test_a_step_leaves_nothing_behind(tmp_path: Path):
    """Else a step would seem to have taken what the one before it gave back to malloc and not to the kernel."""
    steps = report.live_steps(Attempt(None, 0, 20, tmp_path))
    before = [one["anonymous"][0] for kind, one in steps.items() if "in place" not in kind]
    assert max(before) - min(before) < MiB
