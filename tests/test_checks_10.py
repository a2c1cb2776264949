"""Lesson 10's checks: what Windows refuses is refused here, and waiting is judged by what was asked for."""

import pytest

from helpers.measure import maps
from helpers.teach import exercise
from helpers.teach.judging import Verdict
from helpers.units import MiB

pytestmark = pytest.mark.usefixtures("nothing_is_left")

linux = pytest.mark.skipif(bool(maps.why_not()), reason="no /proc here")


def checked(key: str, *lines: str) -> Verdict:
    one = exercise(key)
    head = one.starter.partition(":\n")[0] + ":"
    return one.check(one.made("\n    ".join([head, *lines])), size=4 * MiB, timeout=10)


def test_a_save_that_leaves_no_file_at_all_is_told_so():
    assert checked("10.save", "import os", "os.remove(path)").cause == "no-file"


def test_a_save_that_changes_the_mode_is_right_and_told_so():
    one = exercise("10.save")
    answer = next(answer for answer in one.right if answer.name == "named_temporary_file")
    verdict = one.check(one.made(answer.source), size=4 * MiB)
    assert verdict.outcome == "right" and "the new one has 600" in verdict.because


@linux
@pytest.mark.parametrize(
    ("have", "step", "cause"),
    [
        ("np.memmap(path)", "os.remove(path)", "still-mapped"),
        ("open(path)", "os.rename(path, path + '2')", "still-open"),
        ("open(path)", "Path(path).unlink()", "still-open"),
        ("np.memmap(path)[9]", "os.rename(path, path + '2')", "removed-first"),
        ("np.memmap(path)", "os.truncate(path, 100)", "cut-while-mapped"),
        ("np.memmap(path, mode='r+')", "kept[:9] = 1", "not-moved"),
    ],
)
def test_windows_refuses_to_take_away_or_to_cut_what_is_mapped_or_open(have: str, step: str, cause: str):
    imports = ("import os", "from pathlib import Path", "import numpy as np")
    assert checked("10.windows", *imports, f"kept = {have}", step, "return kept").cause == cause


LATE = "time.sleep(0.02); until = time.perf_counter() + 0.02\n        while time.perf_counter() < until: pass"


@pytest.mark.parametrize(("pause", "cause"), [(LATE, "gave-up-too-soon"), ("time.sleep(0.05)", "")])
def test_twenty_pauses_count_by_what_was_asked_however_late_the_machine_wakes_up(pause: str, cause: str):
    lines = ["import os, time", "import numpy as np", "layer = np.fromfile(path, np.float32, count, offset=offset)"]
    lines += ["for _ in range(20):", "    try:", "        os.replace(new, path)", "        return layer"]
    lines += ["    except PermissionError as error:", "        last = error", f"    {pause}", "raise last"]
    assert checked("10.windows", *lines).cause == cause


def test_without_proc_it_says_that_a_mapping_of_ones_own_is_not_seen(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(maps, "why_not", lambda: "no /proc here")
    one = exercise("10.windows")
    assert "could not be seen here" in one.check(one.made(one.solution_source), size=4 * MiB).because
