"""The answers to lesson 04's quizzes, measured."""

import mmap
from pathlib import Path

from helpers.measure import PageState, maps, page_map
from helpers.teach import exercise_files
from helpers.teach.judging import on_a_file


@on_a_file
def copied_unit(path: Path) -> int | None:
    """1 if a byte written into a private map makes one page anonymous, and the page's other bytes
    are as they were.
    """
    if maps.why_not():
        return None
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as mapping:
        at = 5 * mmap.PAGESIZE + 7
        before = mapping[5 * mmap.PAGESIZE : 6 * mmap.PAGESIZE]
        mapping[at] ^= 255
        mine = page_map(mapping).which(PageState.ANONYMOUS, PageState.FORKED)
        after = mapping[5 * mmap.PAGESIZE : 6 * mmap.PAGESIZE]
    return (
        1
        if mine.tolist() == [5] and sum(a != b for a, b in zip(before, after, strict=True)) == 1
        else 0
    )


@on_a_file
def counted_references(path: Path) -> int | None:
    """2 if reading a list of strings copies it, with the collector switched off, and reading one
    array does not.
    """
    if maps.why_not():
        return None
    report = exercise_files.check(Path(__file__).with_name("report"))
    size = path.stat().st_size
    took = {
        kind: report.growth(report.live_crowd(kind, path, size), "private_dirty")
        for kind in ("list", "array")
    }
    return 2 if took["list"] > report.COUNT * size / 2 > 4 * took["array"] else 0
