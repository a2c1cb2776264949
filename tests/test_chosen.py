"""What `make test` runs, and what only `make test-all` runs."""

import chosen
import pytest
from conftest import LONG

from helpers.folders import ROOT


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """As under `make test`, even when `make test-all` runs this test."""
    monkeypatch.delenv("ZERO_COPY_TESTS", raising=False)
    return monkeypatch


def test_some_are_taken_by_commit_and_in_their_order(part: pytest.MonkeyPatch):
    taken = set()
    for name in ("1f3c", "no commit", *map(str, range(40))):
        part.setattr(chosen, "commit", lambda name=name: name)
        three = chosen.some("abcdefghijk", 3)
        assert three == sorted(three) and len(set(three)) == 3
        assert three == chosen.some("abcdefghijk", 3), "the same commit, the same choice"
        taken |= set(three)
    assert taken == set("abcdefghijk"), "in time, each one is taken"
    assert chosen.some("ab", 3) == ["a", "b"]


def test_everything_is_taken_if_asked_for(part: pytest.MonkeyPatch):
    assert not chosen.everything()
    part.setenv("ZERO_COPY_TESTS", "all")
    assert chosen.everything() and chosen.some("abcdefghijk", 3) == list("abcdefghijk")
    assert len(chosen.some("abcdefghijk", 3, of_all=5)) == 5
    part.setenv("ZERO_COPY_TESTS", "yes")
    with pytest.raises(ValueError, match="ZERO_COPY_TESTS is 'yes'; it is 'all'"):
        chosen.everything()


def test_what_is_taken_in_part_is_there():
    assert all((ROOT / "tests" / f"test_{name}.py").exists() for name in LONG)


def test_without_git_the_choice_stands(part: pytest.MonkeyPatch):
    part.setenv("PATH", "")
    chosen.commit.cache_clear()
    assert chosen.commit() == "no commit"
    part.undo()
    chosen.commit.cache_clear()
    assert len(chosen.commit()) == 40 or not (ROOT / ".git").exists()
