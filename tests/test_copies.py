"""Every row of data/copies/ does what it says here, and its control does the opposite."""

from pathlib import Path

import pytest

from helpers.copies import copies, files
from helpers.copies.kept import kept
from helpers.copies.run import Found, run
from helpers.copies.shown import modules
from helpers.measure import NotMeasuredHere
from helpers.teach.exercise_files import Malformed

HEAD = 'title = "x"\nimports = "import numpy as np"\nversions = ["numpy"]\n'
ROW = {
    "title": '"A slice"',
    "call": '"a[:]"',
    "does": '"lends"',
    "control": '"a.copy()"',
    "tasks": '["a part of an array"]',
}
each_library = pytest.mark.parametrize("library", files.libraries(), ids=lambda one: one.name)


def written(folder: Path, **changed: str) -> Path:
    path = folder / "numpy.toml"
    lines = (f"{key} = {value}" for key, value in {**ROW, **changed}.items() if value)
    path.write_text(HEAD + "\n".join(("[slice]", *lines)))
    return path


@pytest.mark.slow
@each_library
def test_each_call_and_its_control_do_what_the_row_says(library: files.Library):
    """With other versions than it was run with last, a row that has changed says so in its note."""
    for name in modules(library):
        pytest.importorskip(name)
    try:
        ran = run(library)
    except NotMeasuredHere as error:
        pytest.skip(str(error))
    known = kept(library)[0].versions.items() >= ran.versions.items()
    rows = [row for row in library.rows if known or not row.note]
    wrong = {row.name: ran.found[row.name] for row in rows if not ran.holds(row)}
    assert not wrong


@each_library
def test_each_row_was_run_with_two_versions(library: files.Library):
    newest, *others = kept(library)
    assert others
    wrong = [row.name for row in library.rows if not newest.holds(row)]
    assert not wrong
    assert all(row.name in one.found for one in others for row in library.rows)


def test_a_reader_s_words_find_calls_and_run_them():
    found = copies("numpy flatten")
    assert ("a.flatten()", "copies") in {row[1:3] for row in found.rows}
    assert "numpy" in {row[0] for row in copies().rows}
    assert "copies() lists" in copies("no such call").caption


def test_a_library_that_ends_early_says_why():
    library = files.Library("numpy", "numpy", "raise ImportError('no such library')", [], [])
    row = next(row for one in files.libraries() for row in one.rows)
    with pytest.raises(RuntimeError, match="no such library"):
        run(library, [row])


def test_a_row_that_says_the_opposite_is_found(tmp_path: Path):
    library = files.read(written(tmp_path, does='"copies"'))
    ran = run(library)
    assert not ran.holds(library.rows[0])


def test_a_control_that_does_the_same_is_found(tmp_path: Path):
    library = files.read(written(tmp_path, control='"a[1:]"'))
    assert not run(library).holds(library.rows[0])


def test_a_call_that_raises_is_neither(tmp_path: Path):
    library = files.read(written(tmp_path, call='"a[1, 1]"'))
    call, control = run(library).found["slice"]
    assert call.verdict("address") == "neither"
    assert call.error.startswith("IndexError")
    assert control.verdict("address") == "copies"


@pytest.mark.parametrize(
    ("share", "verdict"), [(0.05, "lends"), (0.5, "neither"), (1.0, "copies"), (2.0, "copies")]
)
def test_what_is_between_is_neither(share: float, verdict: str):
    assert Found(took=share).verdict("memory") == verdict


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"does": '"lent"'}, "slice: does is one of lends, copies"),
        ({"control": ""}, "slice: without control"),
        ({"tasks": '"a"'}, "slice: tasks isn't"),
        ({"cal": '"a"'}, "slice: no key 'cal'"),
        ({"says": '"A view."'}, "a quotation has `says`, `at` and `of`"),
        ({"says": f'"{"word " * 26}"', "at": '"x"', "of": '"2"'}, "at most 25 words"),
    ],
)
def test_what_breaks_the_form_is_named(tmp_path: Path, changed: dict[str, str], told: str):
    with pytest.raises(Malformed, match=told):
        files.read(written(tmp_path, **changed))
