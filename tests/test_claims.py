"""Claims: what's said, what's measured, the verdict. A finished lesson asserts every one of its
claims.
"""

from pathlib import Path

import pytest
from tables import each_of

from helpers import folders
from helpers.teach import claim
from helpers.teach.claims import ClaimError, asserted_in, claims
from helpers.teach.notebook_files import code_cells, read

TOML = (Path(__file__).parent / "sample_claims.toml").read_text(encoding="utf-8")


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (path := tmp_path / "claims.toml").write_text(TOML)
    monkeypatch.setattr("helpers.teach.claims.CLAIMS", path)
    return path


# --- this collection's own ------------------------------------------------------------------------
def test_every_claim_of_a_finished_lesson_is_asserted_in_it_and_exists():
    cells = {path.name[:2]: code_cells(read(path)) for path in folders.lessons()}
    made = {
        (lesson, id)
        for lesson, texts in cells.items()
        for _, text in texts
        for id in asserted_in(text)
    }
    wanted = {(lesson, id) for id, known in claims().items() for lesson in known.lessons}
    assert wanted
    assert not wanted - made
    assert {id for _, id in made} <= set(claims())


# --- how it works ---------------------------------------------------------------------------------
def test_a_claim_that_holds_says_said_measured_verdict(known: Path):
    made = claim("slurp-costs-file", True, "read 256 MiB, chunks 1 MiB")
    assert [name for name, _ in made.rows] == ["Said", "Measured", "Verdict"]
    assert 'class="zc-claim" data-verdict="holds"' in made._repr_html_()
    assert "<code>read</code> in chunks" in made._repr_html_()
    assert "read 256 MiB, chunks 1 MiB" in repr(made)
    assert "Misleading" in repr(made)


def test_what_differs_here_is_shown_in_class(known: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("ZERO_COPY_STRICT", raising=False)
    made = claim("slurp-costs-file", False, "read 3 MiB")
    assert made.verdict == "differs"
    assert 'data-verdict="differs"' in made._repr_html_()
    assert str(made.machine) in repr(made)


def test_what_differs_raises_under_strict(known: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ZERO_COPY_STRICT", "1")
    with pytest.raises(ClaimError, match=r"'slurp-costs-file' does not hold(.|\n)*read 3 MiB"):
        claim("slurp-costs-file", False, "read 3 MiB")
    assert claim("slurp-costs-file", None, "").verdict == "not measured"


def test_what_was_not_measured_says_so(known: Path):
    made = claim("no-pages", None, "macOS has no such meter.")
    assert "not measured here. macOS has no such meter." in repr(made)
    assert 'data-verdict="not measured"' in made._repr_html_()


def test_an_unknown_claim_names_the_nearest(known: Path):
    with pytest.raises(ValueError, match=r"no claim 'slurp-cost-file'.*slurp-costs-file"):
        claim("slurp-cost-file", True, "")


@each_of(
    ("old", "new", "message"),
    ('source = "mmap(2)."\n', "", "'no-pages' lacks source"),
    ('better = "Its pages are lent."', 'better = " "', "'no-pages' lacks better"),
    ('lessons = ["02"]', 'lessons = "02"', "'no-pages' lacks lessons"),
    ('verdict = "false"', 'verdict = "wrong"', "verdict 'wrong'; there are: true, caveat"),
)
def test_an_entry_that_is_not_whole_is_refused(known: Path, old: str, new: str, message: str):
    known.write_text(TOML.replace(old, new))
    with pytest.raises(ValueError, match=message):
        claims(known)


def test_a_cell_asserts_what_it_calls_and_nothing_else():
    assert asserted_in('%timeit x\nclaim("a",\n    holds=True, measured=f"{x}")') == ["a"]
    assert asserted_in('display(teach.claim("b", None, ""))  # claim("commented", True, "")') == [
        "b"
    ]
    assert asserted_in('%%bash\nclaim("shell"') == asserted_in("if x:\n    !ls") == []


def test_what_was_measured_may_be_named_shares():
    made = claim("slurp-costs-file", True, {"slurp": 1.0, "one buffer": 0.0041, "calls": "3"})
    assert made.measured == "slurp 100.0%; one buffer 0.4%; calls 3"
