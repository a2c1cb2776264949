"""Lesson 10: other right answers are right, what is called a holder is one, and no lazy rule passes."""

import gc
from pathlib import Path

import pytest

from helpers.make import random_file
from helpers.measure import maps, sampler
from helpers.teach.carried import lesson_10 as carried
from helpers.teach.exercises import Verdict
from helpers.teach.lessons import lesson_10
from helpers.units import KiB, MiB

pytestmark = pytest.mark.usefixtures("nothing_is_left")

ONE = {one.key: one for one in lesson_10.EXERCISES}
RIGHT = {
    "10.save, by the house": """def save(array, path):
    from helpers.make import whole_file
    with whole_file(path, array.nbytes) as file:
        file.write(array)
""",
    "10.save, a name of tempfile's": """from os import fsync
def save(array, path):
    import os, tempfile
    file = tempfile.NamedTemporaryFile(dir=os.path.dirname(path), delete=False)
    try:
        with file:
            array.tofile(file)
            fsync(file)
        os.rename(file.name, path)
    except BaseException:
        os.unlink(file.name)
        raise
""",
    "10.save, a folder of tempfile's in the folder": """def save(array, path):
    import os, tempfile
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as folder:
        with open(f"{folder}/new", "wb") as file:
            array.tofile(file)
            file.flush()
            os.fsync(file)
        os.replace(f"{folder}/new", path)
""",
    "10.save, by its bytes and file descriptors": """def save(array, path):
    import os
    from contextlib import suppress
    from pathlib import Path
    os.chdir(Path(path).parent)
    try:
        fd = os.open("beside", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            rest = memoryview(array).cast("B")
            while rest:
                rest = rest[os.write(fd, rest[:100_000]):]
            os.fdatasync(fd)
        finally:
            os.close(fd)
        Path("beside").replace(Path(path).name)
    finally:
        with suppress(FileNotFoundError):
            os.remove("beside")
""",
    "10.holders, by who refers": """def find(session, mapping):
    import gc, types
    import numpy as np
    def note(value, seen):
        if id(value) in seen or value is session or isinstance(value, types.ModuleType):
            return False
        seen.add(id(value))
        base = (value.base,) if isinstance(value, np.ndarray) else ()
        return any(one is mapping or note(one, seen) for one in (*gc.get_referents(value), *base))
    return sorted(name for name, value in session.items() if note(value, set()))
""",
    "10.windows, read and not mapped": lesson_10.swap_by(lesson_10.READ, *lesson_10.RETRY),
    "10.windows, a memmap deleted": """def swap(path, offset, count, new):
    import time
    import numpy as np
    from pathlib import Path
    weights = np.memmap(path, np.uint8, "r")
    layer = np.array(weights[offset : offset + 4 * count]).view(np.float32)
    del weights
    for _ in range(10):
        try:
            Path(new).replace(path)
            break
        except OSError:
            time.sleep(0.1)
    else:
        Path(new).rename(path)
    return layer
""",
}
linux = pytest.mark.skipif(bool(maps.why_not()), reason="no /proc here")


def checked(key: str, source: str) -> Verdict:
    return ONE[key].check(ONE[key].made(source), size=4 * MiB, timeout=10)


@pytest.mark.parametrize("way", RIGHT)
def test_other_right_answers_are_right(way: str):
    verdict = checked(way.partition(",")[0], RIGHT[way])
    assert verdict.outcome == "right", repr(verdict)
    assert ("had the mode" in verdict.because) == (way.endswith("a name of tempfile's"))


# --- 10.save --------------------------------------------------------------------------------------------------
def test_a_failure_of_its_own_is_told_with_its_line():
    because = checked("10.save", 'def save(array, path):\n    open(path + "/x", "wb")\n').because
    assert "NotADirectoryError" in because and "in line 2" in because


def test_a_save_that_leaves_no_file_at_all_is_told_so():
    because = checked("10.save", "def save(array, path):\n    import os\n    os.remove(path)\n").because
    assert "a moment without a file" in because


def test_a_save_of_many_steps_is_looked_at_less_often():
    """A file written in 16,000 pieces: else the looking would take longer than the check may."""
    source = ONE["10.save"].solution_source.replace(
        "            file.write(array)\n",
        "            for at in range(0, array.size, 64):\n                file.write(array[at : at + 64])\n",
    )
    assert checked("10.save", source).outcome == "right"


# --- 10.holders -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [*lesson_10.HOLDERS, *lesson_10.FREE], ids=lambda kind: kind[-24:])
def test_what_is_called_a_holder_is_one(kind: str, tmp_path: Path):
    """With this name alone, is the mapping there? And when it is deleted, gone?"""
    path, other = (str(random_file(tmp_path / name, 16 * KiB)) for name in ("a.bin", "b.bin"))
    gc.freeze()  # what was there before is not collected: only sooner done
    try:
        for names, gone in (([], kind in lesson_10.FREE), (["rows"], True)):
            told = carried.searched(lambda session, mapping, names=names: names, [kind.format(n="rows")], path, other)
            assert told[0][2] == gone
    finally:
        gc.unfreeze()


def test_each_check_asks_of_every_kind_three_in_a_session():
    sessions = lesson_10.four_sessions()
    kinds = [kind for session in sessions for kind in session.values()]
    assert sorted(kinds) == sorted([*lesson_10.HOLDERS, *lesson_10.FREE])
    assert all(sum(kind in lesson_10.HOLDERS for kind in session.values()) == 3 for session in sessions)
    assert sessions != lesson_10.four_sessions()


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
    verdict = checked("10.holders", source)
    assert verdict.outcome == "not yet" and ("holds the file" in verdict.because or "not hold" in verdict.because)


# --- 10.windows -----------------------------------------------------------------------------------------------
@linux
@pytest.mark.parametrize(
    ("have", "step", "why"),
    [
        ("np.memmap(path)", "os.remove(path)", "you still had it mapped"),
        ("open(path)", "os.rename(path, path + '2')", "you still had it open"),
        ("open(path)", "Path(path).unlink()", "you still had it open"),
        ("np.memmap(path)[9]", "os.rename(path, path + '2')", "took the old file's name away"),
    ],
)
def test_what_windows_refuses_is_refused_while_the_file_is_mapped_or_open(have: str, step: str, why: str):
    source = lesson_10.swap_by("from pathlib import Path", f"kept = {have}", step, "return kept")
    assert why in checked("10.windows", source).because


@linux
def test_a_mapped_file_may_be_written_but_not_cut():
    cut = lesson_10.swap_by("kept = np.memmap(path)", "os.truncate(path, 100)", "return kept")
    assert "does not let a mapped file be cut" in checked("10.windows", cut).because
    written = lesson_10.swap_by("kept = np.memmap(path, mode='r+')", "kept[:9] = 1", "return kept")
    assert "is not the one that was at" in checked("10.windows", written).because


def test_without_proc_it_says_that_a_mapping_of_ones_own_is_not_seen(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(maps, "why_not", lambda: "no /proc here")
    assert "could not be seen here" in checked("10.windows", ONE["10.windows"].solution_source).because


# --- a machine that shows less --------------------------------------------------------------------------------
def test_where_no_kinds_of_memory_are_told_apart_the_heap_counter_stands_in(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sampler, "choose", lambda: sampler.Portable)
    verdict = checked("10.save", ONE["10.save"].solution_source)
    assert verdict.outcome == "right" and "not measured here" in verdict.because
