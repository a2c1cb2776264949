"""Lesson 10's checks: whatever is called a holder is one, and whatever Windows refuses is refused
here.
"""

import tracemalloc
from pathlib import Path

import pytest
from tables import each_of

from helpers.make import random_file
from helpers.measure import maps
from helpers.teach import exercise
from helpers.teach.exercise_files import check
from helpers.units import KiB, MiB

pytestmark = pytest.mark.usefixtures("nothing_is_left")

holders = check(exercise("10.holders").folder)
clinic = check(exercise("10.clinic").folder)
linux = pytest.mark.skipif(bool(maps.why_not()), reason="no /proc here")


def test_what_is_called_a_holder_is_one(tmp_path: Path):
    """While only this name exists, is the mapping there? Once the name is deleted, is it gone?"""
    path, other = (random_file(tmp_path / name, 16 * KiB) for name in ("a.bin", "b.bin"))
    for kind in (*holders.HOLDERS, *holders.FREE):
        for names, gone in (([], kind in holders.FREE), (["rows"], True)):
            told = holders.run(
                lambda *_, names=names: names, [holders.made({"rows": kind})], path, other
            )
            assert told[0][2] == gone, kind


def test_each_check_asks_of_every_kind_three_in_a_session():
    sessions = holders.four_sessions()
    kinds = [kind for session in sessions for kind in session.values()]
    assert sorted(kinds) == sorted([*holders.HOLDERS, *holders.FREE])
    assert all(
        sum(kind in holders.HOLDERS for kind in session.values()) == 3 for session in sessions
    )


@pytest.mark.parametrize("key", ["10.windows", "11.publish"])
def test_a_link_in_the_place_of_a_folder_is_not_followed(tmp_path: Path, key: str):
    (link := tmp_path / "link").symlink_to(Path.home())
    module = check(exercise(key).folder)
    with pytest.raises(OSError, match=r"Not a directory|levels of symbolic"):
        module.contents(link) if key == "10.windows" else module.failed({"full": True}, link, b"")


def test_a_file_left_by_a_student_is_not_read_into_memory(tmp_path: Path):
    with open(tmp_path / "weights.bin", "wb") as file:
        file.truncate(64 * MiB)
    tracemalloc.start()
    assert len(check(exercise("10.windows").folder).contents(tmp_path)) == 1
    assert tracemalloc.get_traced_memory()[1] < 8 * MiB
    tracemalloc.stop()


@linux
@each_of(
    ("have", "step", "cause"),
    ("np.memmap(path)", "os.remove(path)", "still-mapped"),
    ("open(path)", "Path(path).unlink()", "still-open"),
    ("0", "os.rename(path, f'{path}2')", "removed-first"),
    ("0", "Path(new).rename(path)", "renamed"),
    ("np.memmap(path)[9]", "os.truncate(path, 100)", "not-moved"),
    ("np.memmap(path, mode='r+')", "kept[:9] = 1", "not-moved"),
)
def test_windows_refuses_to_take_away_what_is_held_and_only_a_renaming_will_do(
    have: str, step: str, cause: str
):
    imports = "import os; from pathlib import Path; import numpy as np"
    source = (
        f"def swap(path, offset, count, new):\n    {imports}\n    kept = {have}\n    {step}\n   "
        " return kept\n"
    )
    one = exercise("10.windows")
    assert one.check(one.made(source), size=4 * MiB).cause == cause


@linux
def test_the_clinic_s_programs_hold_what_their_cases_say_and_end_with_a_right_answer():
    one = exercise("10.clinic")
    with clinic.running() as programs:
        gauge, pool, titles = map(clinic.held, clinic.PROGRAMS, [each.pid for each in programs])
        assert min(gauge, pool) > 45 * MiB
        assert titles == 24 * MiB
        one.check(one.made(one.wrong[0].source))
        assert [each.poll() for each in programs] == [None] * 3
        one.check(one.made(one.solution_source))
        assert [each.wait() for each in programs] == [0] * 3
