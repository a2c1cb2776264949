"""Every exercise of every lesson: the starter is not attempted, the solution right, each wrong answer not yet."""

import os
import re
from pathlib import Path

import nbformat
import pytest

from helpers import folders
from helpers.measure import sampler
from helpers.teach import Exercise, exercise
from helpers.teach.exercises import does_nothing, exercises
from helpers.teach.lessons import lesson_02, reports
from helpers.units import MiB

pytestmark = pytest.mark.usefixtures("nothing_is_left")

SMALL, SOON = 32 * MiB, 4  # bytes and seconds: the same check as in class, on less

each = pytest.mark.parametrize("one", exercises(), ids=lambda one: one.key)
each_wrong = pytest.mark.parametrize(
    ("one", "source", "message"),
    [
        pytest.param(one, source, message, id=f"{one.key}-{i}")
        for one in exercises()
        for i, (source, message) in enumerate(one.wrong)
    ],
)

RIGHT = {
    "copyfile": "import shutil\n    shutil.copyfile(source, target)",
    "windows of a mapping": """import mmap
    with open(source, "rb") as f, open(target, "wb") as g, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as m:
        for at in range(0, len(m), 2**20):
            g.write(memoryview(m)[at : at + 2**20])""",
    "whole mapping": """import mmap
    with open(source, "rb") as f, open(target, "wb") as g, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as m:
        g.write(m)""",
    "sendfile": """import os
    with open(source, "rb") as f, open(target, "wb") as g:
        at = 0
        while n := os.sendfile(g.fileno(), f.fileno(), at, 2**20):
            at += n""",
    "copy_file_range": """import os
    with open(source, "rb") as f, open(target, "wb") as g:
        while os.copy_file_range(f.fileno(), g.fileno(), 2**30):
            pass""",
}


@each
def test_starter_is_not_attempted(one: Exercise):
    verdict = one.check(one.made(one.starter))
    assert verdict.outcome == "not attempted"
    assert verdict.because.startswith("Fill in" if does_nothing(one.made(one.starter).__code__) else "Change")


@each
def test_solution_is_right_at_full_size(one: Exercise):
    verdict = one.check(one.made(one.solution_source))
    assert verdict.outcome == "right", repr(verdict)
    assert verdict.figures or verdict.recording.missing


@each_wrong
def test_wrong_answer_meets_its_message(one: Exercise, source: str, message: str):
    verdict = one.check(one.made(source), size=SMALL, timeout=SOON)
    assert verdict.outcome == "not yet"
    assert message in repr(verdict)


@each
def test_it_is_complete(one: Exercise):
    assert len(one.hints) == 2 and len(one.wrong) >= 2
    assert f'data-exercise="{one.key}"' in one._repr_html_() and str(one.minutes) in one._repr_html_()
    assert one.name in one.prompt


@each
def test_its_lesson_asks_for_it(one: Exercise):
    lesson = next(folders.NOTEBOOKS.glob(f"{one.key[:2]}_*.ipynb"), None)
    if lesson is None:
        pytest.skip(f"lesson {one.key[:2]} is not written yet")
    cells = nbformat.read(lesson, as_version=4).cells
    tries = [c.source for c in cells if "exercise" in c.metadata.get("tags", [])]
    asked = rf'exercise\("{re.escape(one.key)}"\)\.check\({one.name}\)'
    found = [source for source in tries if re.search(asked, source)]
    assert len(found) == 1
    assert one.check(one.made(found[0][: re.search(asked, found[0]).start()])).outcome == "not attempted"


@pytest.mark.parametrize("way", RIGHT)
def test_any_right_way_to_copy_is_right(way: str):
    if not hasattr(os, way) and way in ("sendfile", "copy_file_range"):
        pytest.skip(f"no os.{way} here")
    one = exercise("02.chunks")
    verdict = one.check(one.made(f"def copy_small(source, target):\n    {RIGHT[way]}\n"), size=SMALL)
    assert verdict.outcome == "right", repr(verdict)


def test_a_growing_bytearray_is_right_too():
    one = exercise("02.hidden")
    grows = """def load(path):
    data = bytearray()
    with open(path, "rb") as f:
        while chunk := f.read(2**20):
            data += chunk
    return data
"""
    assert one.check(one.made(grows), size=SMALL).outcome == "right"


@pytest.mark.parametrize("key", ["00.grow", "02.chunks", "02.hidden", "02.report"])
def test_without_kinds_of_memory_the_heap_counter_stands_in(key: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sampler, "choose", lambda: sampler.Portable)
    one = exercise(key)
    verdict = one.check(one.made(one.solution_source), size=SMALL)
    assert verdict.outcome == "right", repr(verdict)
    assert "not measured here" in verdict.because or "recorded on another machine" in verdict.because


@pytest.mark.parametrize("key", ["02.chunks", "02.hidden"])
def test_without_kinds_of_memory_the_heap_still_tells_on_a_slurp(key: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sampler, "choose", lambda: sampler.Portable)
    one = exercise(key)
    verdict = one.check(one.made(one.wrong[0][0]), size=SMALL)
    assert verdict.outcome == "not yet" and "the heap alone took" in verdict.because


@pytest.mark.parametrize("key", ["01.report", "02.report", "03.report", "04.report", "05.report"])
def test_numbers_and_words_of_numpy_are_as_good(key: str):
    one = exercise(key)
    source = one.solution_source.replace(f"def {one.name}(", "def found(")
    source += f"""
def {one.name}(*given):
    import numpy as np
    value = found(*given)
    return np.str_(value) if type(value) is str else tuple(np.array(each)[()] for each in value)
"""
    assert one.check(one.made(source), size=SMALL).outcome == "right"


# --- 02.report: what it calls right is what measure sees -------------------------------------------------------
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc here")
def test_reports_agree_with_the_recordings_of_the_same_processes(tmp_path: Path):
    one = exercise("02.report")
    attempt = lesson_02.Attempt(None, one.size, 20, tmp_path)
    live = lesson_02.live_reports(attempt)
    base_lent, base_own, _ = lesson_02.read_right(live["map, untouched"].value)
    for kind, run in live.items():
        lent, own, _ = lesson_02.read_right(run.value)
        assert lent - base_lent == pytest.approx(run.peak.file, abs=3 * MiB), kind
        assert own - base_own == pytest.approx(run.peak.anonymous + run.peak.shared, abs=3 * MiB), kind


def test_recorded_reports_are_of_the_same_kinds_and_need_every_word():
    assert set(reports.RECORDED) == set(lesson_02.KINDS)
    assert {lesson_02.read_right(text)[2] for text in reports.RECORDED.values()} == set(lesson_02.WORDS)
