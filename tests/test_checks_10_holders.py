"""10.holders: what its check calls a holder is one, and every check asks of every kind."""

import gc
from pathlib import Path

import pytest

from helpers.make import random_file
from helpers.teach import exercise
from helpers.teach.exercise_files import check
from helpers.units import KiB

holders = check(exercise("10.holders").folder)


@pytest.mark.parametrize("kind", [*holders.HOLDERS, *holders.FREE], ids=lambda kind: kind[-24:])
def test_what_is_called_a_holder_is_one(kind: str, tmp_path: Path):
    """With this name alone, is the mapping there? And when it is deleted, gone?"""
    path, other = (str(random_file(tmp_path / name, 16 * KiB)) for name in ("a.bin", "b.bin"))
    gc.freeze()  # what was there before is not collected: only sooner done
    try:
        for names, gone in (([], kind in holders.FREE), (["rows"], True)):
            told = holders.run(lambda *_, names=names: names, [holders.made({"rows": kind})], path, other)
            assert told[0][2] == gone
    finally:
        gc.unfreeze()


def test_each_check_asks_of_every_kind_three_in_a_session():
    sessions = holders.four_sessions()
    kinds = [kind for session in sessions for kind in session.values()]
    assert sorted(kinds) == sorted([*holders.HOLDERS, *holders.FREE])
    assert all(sum(kind in holders.HOLDERS for kind in session.values()) == 3 for session in sessions)
    assert sessions != holders.four_sessions()


@pytest.mark.parametrize(
    "rule",
    [
        "set()",
        "isinstance(value, np.ndarray) and value.base is not None",
        "'rows' in repr(value) or 'array' in repr(value)",
    ],
)
def test_a_lazy_rule_does_not_pass(rule: str):
    source = f"""def find(session, mapping):
    import numpy as np
    return {{name for name, value in session.items() if {rule}}}
"""
    one = exercise("10.holders")
    verdict = one.check(one.made(source))
    assert verdict.outcome == "not yet" and ("holds the file" in verdict.because or "not hold" in verdict.because)
