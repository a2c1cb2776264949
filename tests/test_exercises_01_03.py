"""Lessons 01 and 03: other right answers are right, and a check says what this machine cannot show it."""

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers import folders
from helpers.measure import cache, here, maps, page_cache
from helpers.teach import exercise
from helpers.teach.lessons import lesson_01, lesson_03, reports
from helpers.units import MiB

linux = pytest.mark.skipif(sys.platform != "linux", reason="the calls are Linux's")

RIGHT = {
    "01.yours, by numpy": """def yours(path, pages):
    import mmap
    import numpy as np
    mapped = np.memmap(path, np.uint8, "c")
    for page in pages:
        mapped[page * mmap.PAGESIZE] |= 0
    return mapped
""",
    "03.lookup, pread": """def lookup(path, positions):
    import os
    file = os.open(path, os.O_RDONLY)
    return b"".join(os.pread(file, 1, at) for at in positions)
""",
    "03.lookup, buffered with advice": """def lookup(path, positions):
    import os
    file = os.open(path, os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
    return b"".join(os.pread(file, 1, at) for at in positions)
""",
    "03.lookup, each page once": """def lookup(path, positions):
    with open(path, "rb", buffering=0) as file:
        found = {}
        for at in sorted(set(positions)):
            file.seek(at)
            found[at] = file.read(1)
    return b"".join(found[at] for at in positions)
""",
    "03.window, a mapping that gives back": lesson_03.pieces_by(lesson_03.MAPPED, lesson_03.PART, lesson_03.BACK),
    "03.window, a mapping for each piece": lesson_03.pieces_by(
        "None", 'np.memmap(path, np.uint8, "r", at, min(2**16 + width - 1, size - at))'
    ),
}


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where the generated files lie, because that is on a disk."""
    with tempfile.TemporaryDirectory(prefix="tests-", dir=folders.generated()) as made:
        yield Path(made)


def checked(key: str, source: str | None = None):
    one = exercise(key)
    return one.check(one.made(source or one.solution_source), size=32 * MiB)


@linux
@pytest.mark.parametrize("way", RIGHT)
def test_any_right_way_is_right(way: str):
    verdict = checked(way.partition(",")[0], RIGHT[way])
    assert verdict.outcome == "right", repr(verdict)


# --- a machine that shows less --------------------------------------------------------------------------------
def test_without_page_states_bytes_and_file_are_still_judged(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(maps, "why_not", lambda: "this is a test")
    right, (changes, said) = checked("01.yours"), exercise("01.yours").wrong[0]
    assert right.outcome == "right" and "not measured here: this is a test" in right.because
    wrong = checked("01.yours", changes)
    assert wrong.outcome == "not yet" and said in wrong.because


def test_where_no_file_gets_cold_the_bytes_are_still_judged(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cache, "drop_from_cache", lambda path: replace(page_cache(path), cached=None))
    right = checked("03.lookup")
    assert right.outcome == "right" and "could not be dropped" in right.because
    wrong = checked("03.lookup", lesson_03.lookup_by(lesson_03.BYTES.replace("positions", "positions[1:]")))
    assert wrong.outcome == "not yet" and "255 bytes for 256 positions" in wrong.because
    assert "recorded on another machine" in checked("03.report").because


# --- what the checks call right -------------------------------------------------------------------------------
def test_recorded_loaders_need_every_word_and_one_leaks_unseen():
    judged = {kind: lesson_01.judged_right(*pair) for kind, pair in reports.LOADERS.items()}
    assert set(judged) == set(lesson_01.LOADERS)
    assert {word for *_, word in judged.values()} == set(lesson_01.WORDS)
    lent, own, word = judged["trades"]
    assert word == "leak" and abs(lesson_01.gains(*reports.LOADERS["trades"])["VmRSS"]) < 0.01 * own < -lent


@linux
def test_live_loaders_are_judged_like_the_recorded_ones(folder: Path):
    if here(folder).file_system == "tmpfs":
        pytest.skip("a file on a tmpfs is shared memory")
    live = lesson_01.live_loaders(lesson_01.Attempt(None, 0, 20, folder))
    assert lesson_01.words_of(live) == lesson_01.words_of(reports.LOADERS)


def test_recorded_loads_need_every_word():
    assert set(reports.LOADS) == set(lesson_03.LOADS)
    assert all(tuple(one) == tuple(lesson_03.FIELDS) for one in reports.LOADS.values())
    assert {lesson_03.cause(one) for one in reports.LOADS.values()} == set(lesson_03.CAUSES)


def test_live_loads_have_the_causes_of_the_recorded_ones(folder: Path):
    recorded = lesson_03.causes_of(reports.LOADS)
    for _ in range(3):  # the kernel may take a warm file's pages, whoever needs them
        live = lesson_03.live_loads(lesson_03.Attempt(None, 0, 20, folder))
        if not live:
            pytest.skip("no file gets cold here, or nobody counts what the disk gave")
        if lesson_03.causes_of(live) == recorded:
            break
    assert lesson_03.causes_of(live) == recorded
    for kind, one in live.items():
        assert (one["cached_before"] > 0.9 * one["size"]) == kind.endswith("warm"), kind


@pytest.mark.parametrize("where", lesson_03.WINDOWS)
def test_the_largest_window_is_where_it_was_put(where: str, tmp_path: Path):
    width = 50_001
    path, most = lesson_03.with_largest(lesson_03.Attempt(None, 8 * MiB, 20, tmp_path), where, width)
    sums = np.insert(np.cumsum(np.fromfile(path, "u1"), dtype="i8"), 0, 0)
    found = sums[width:] - sums[:-width]
    assert found.max() == most and (found == most).sum() == 1
    begin, end = int(found.argmax()), path.stat().st_size - width
    at = {"start": 0, "end": end, "middle": 4 * MiB - width + 1, "late": 4 * MiB - 1, "multiple": 120 * width - 1}
    assert begin == at[where]
