"""Controls find a claim that can't fail."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from nbformat import NotebookNode
from test_lessons import each_lesson

from helpers.teach.claims import Known, asserted_in, claims
from helpers.teach.controls import PLAIN, Noticed, tried

CELL = """
taken = {way: size / 100 for way, size in runs.items()}
low = taken["map"] < 0.1 < taken["read"]
claim("small", holds=low and taken["map"] >= 0, measured=taken)
display(claim("other", always > 0, "one"))
"""
NAMES = {"runs": {"map": 1, "read": 100}, "always": 1}
CONTROLS = {
    "small": {"reading in the mapping's place": "runs = {**runs, 'map': runs['read']}"},
    "other": {"nothing else": "pass", "another name": "runs = {}"},
}


@pytest.fixture
def noticed(monkeypatch: pytest.MonkeyPatch) -> Noticed:
    known = {
        id: Known(id, "said", "true", "better", "show", "source", ("02",), {"02": cases})
        for id, cases in CONTROLS.items()
    }
    monkeypatch.setattr("helpers.teach.controls.claims", lambda: known)
    return tried(CELL, NAMES, "02")


def test_a_control_shows_which_comparisons_fail(noticed: Noticed):
    small = noticed.tried[0]
    assert (small.claim, small.holds, small.failed) == ("small", False, ("taken['map'] < 0.1",))
    assert small.measured == "map 100.0%; read 100.0%"
    assert noticed.comparisons["small"] == (
        "taken['map'] < 0.1",
        "0.1 < taken['read']",
        "taken['map'] >= 0",
    )


def test_a_control_that_changes_nothing_or_raises_says_so_and_the_kernels_names_stay(
    noticed: Noticed,
):
    assert noticed.tried[1].holds is True
    assert not noticed.tried[1].failed
    assert "Holds all the same" in noticed._repr_mimebundle_()["text/html"]
    assert noticed.tried[2].error == "KeyError: 'map'"
    assert noticed.tried[2].holds is None
    assert NAMES == {"runs": {"map": 1, "read": 100}, "always": 1}


def test_what_was_tried_can_be_read_from_an_output(noticed: Noticed):
    data = json.loads(json.dumps(noticed._repr_mimebundle_()))[PLAIN]
    assert [one["case"] for one in data["tried"]] == [
        case for cases in CONTROLS.values() for case in cases
    ]


def test_controls_belong_to_a_lesson_that_asserts_the_claim(tmp_path: Path):
    text = (
        'said = "x"\nverdict = "true"\nbetter = "x"\nshow = "x"\nsource = "x"\nlessons = ["02"]\n'
    )
    path = tmp_path / "claims.toml"
    path.write_text(f'[a]\n{text}[a.controls.03]\n"x" = "pass"\n')
    with pytest.raises(
        ValueError, match="'a' has controls for lesson 03, where it is not asserted"
    ):
        claims(path)


@pytest.mark.notebooks
@pytest.mark.measured
@each_lesson
def test_every_comparison_of_every_claim_fails_under_some_control(
    lesson: Path, run_lesson: Callable[[Path], NotebookNode]
):
    """In the lesson's own kernel, beside the measured values: see publish/execute.py."""
    cells = run_lesson(lesson).cells
    outputs = [output.get("data", {}) for cell in cells for output in cell.get("outputs", ())]
    every = [data[PLAIN] for data in outputs if PLAIN in data]
    tries = [one for data in every for one in data["tried"]]
    assert not [one for one in tries if one["error"]], (
        "a control raises; it should give another measured case"
    )
    assert not [one for one in tries if one["holds"] is not False], "the claim holds all the same"
    failed = {(one["claim"], text) for one in tries for text in one["failed"]}
    compared = {
        (claim, text)
        for data in every
        for claim, texts in data["comparisons"].items()
        for text in texts
    }
    untested = {claim for claim, known in claims().items() if known.untested}
    assert {pair for pair in compared - failed if pair[0] not in untested} == set(), (
        "nothing makes these fail"
    )
    asserted = [
        claim for cell in cells if cell.cell_type == "code" for claim in asserted_in(cell.source)
    ]
    assert {claim for claim, _ in compared} == set(asserted)
