"""Lesson 08: other right answers are right, what is recorded is what happens, and every damage is needed."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from helpers.measure import maps, measure, sampler
from helpers.teach.carried import lesson_08 as carried
from helpers.teach.exercises import Verdict
from helpers.teach.lessons import lesson_08
from helpers.units import MiB

pytestmark = pytest.mark.usefixtures("nothing_is_left")

ONE = {one.key: one for one in lesson_08.EXERCISES}
RIGHT = {
    "08.reader, the table as an array of records": """def read(path):
    import mmap
    import numpy as np
    entry = np.dtype([("name", "S16"), ("kind", "<u4"), ("rows", "<u4"), ("columns", "<u4"), ("offset", "<u8")])
    with open(path, "rb") as file:
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    if view[:4] != b"ZCM1" or len(view) < 8:
        raise ValueError("no ZCM1")
    table = np.frombuffer(view, entry, int.from_bytes(view[4:8], "little"), 8)
    arrays = {}
    for name, kind, rows, columns, offset in table.tolist():
        dtype = {1: "<f4", 2: "<i8", 3: "u1"}.get(kind)
        if dtype is None or offset % 8 or not 8 + table.nbytes <= offset <= len(view):
            raise ValueError("damaged")
        arrays[name.decode()] = np.frombuffer(view[offset:], dtype, rows * columns).reshape(rows, columns)
    return arrays
""",
    "08.reader, np.memmap": """def read(path):
    import os
    import struct
    import numpy as np
    class Damaged(ValueError):
        pass
    end, arrays = os.path.getsize(path), {}
    with open(path, "rb") as file:
        head = file.read(8)
        if len(head) < 8 or head[:4] != b"ZCM1":
            raise Damaged(head)
        count = int.from_bytes(head[4:], "little")
        for _ in range(count):
            entry = file.read(36)
            if len(entry) < 36:
                raise Damaged("the table")
            name, kind, rows, columns, offset = struct.unpack("<16s3IQ", entry)
            if kind not in (1, 2, 3) or offset + rows * columns * (4, 8, 1)[kind - 1] > end:
                raise Damaged(name)
            if offset % 8 or offset < 8 + 36 * count:
                raise Damaged(name)
            name, dtype = name.strip(b"\\0").decode(), (0, "<f4", "<i8", "|u1")[kind]
            arrays[name] = np.memmap(path, dtype, "r", offset, (rows, columns))
    return arrays
""",
    "08.liar, another byte in the file": """def liars(loaders):
    import numpy as np
    found = set()
    for name, (load, path) in loaders.items():
        arrays = list(load(path).values())
        before = [array.copy() for array in arrays]
        with open(path, "r+b") as file:
            whole = np.frombuffer(file.read(), "u1")
            file.seek(0)
            file.write(~whole)
            file.flush()
            if any((array.view("u1") == old.view("u1")).any() for array, old in zip(arrays, before)):
                found.add(name)
            file.seek(0)
            file.write(whole)
    return found
""",
    "08.liar, the kernel's list of mappings": """def liars(loaders):
    def borrows(array, path):
        start = array.__array_interface__["data"][0]
        with open("/proc/self/maps") as file:
            for line in file:
                begin, end = (int(part, 16) for part in line.split()[0].split("-"))
                if begin <= start < end:
                    return line.split(maxsplit=5)[-1].strip() == path
    return tuple(n for n, (load, path) in loaders.items() if not all(borrows(a, path) for a in load(path).values()))
""",
    "08.keeps, with a Cow": """def take(path, name):
    from helpers.ideas.safetensors import TensorFile
    with TensorFile(path) as file:
        return file.cow(name).into_owned()
""",
    "08.keeps, read at its place": """def take(path, name):
    import numpy as np
    from helpers.ideas.safetensors import TensorFile
    with TensorFile(path) as file:
        entry = file.entries[name]
    return np.fromfile(path, "f4", (entry.end - entry.begin) // 4, offset=entry.begin).reshape(entry.shape)
""",
}


def checked(key: str, source: str) -> Verdict:
    return ONE[key].check(ONE[key].made(source), size=4 * MiB)


@pytest.mark.parametrize("way", RIGHT)
def test_other_right_answers_are_right(way: str):
    if "mappings" in way and maps.why_not():
        pytest.skip("no /proc here")
    verdict = checked(way.partition(",")[0], RIGHT[way])
    assert verdict.outcome == "right", repr(verdict)


# --- 08.reader ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", lesson_08.DAMAGES)
def test_every_damage_is_found_by_the_solution_and_a_reader_that_lets_it_pass_is_told(kind: str):
    does = lesson_08.DAMAGES[kind]
    source = (
        lesson_08.READ.replace("def read(", "def found(")
        + f"""
def read(path):
    try:
        return found(path)
    except ValueError:
        if path.endswith("{kind}.zcm"):
            return {{}}
        raise
"""
    )
    verdict = checked("08.reader", source)
    assert verdict.outcome == "not yet" and verdict.because.startswith(f"for a file {does}: it was read")


def test_a_damaged_file_has_that_damage_and_no_other(tmp_path: Path):
    read = ONE["08.reader"].made(lesson_08.READ)
    sizes = set()
    for kind in lesson_08.DAMAGES:
        path = lesson_08.damaged(tmp_path / f"{kind}.zcm", kind)
        sizes.add(path.stat().st_size)
        with pytest.raises(ValueError):
            read(path)
    assert max(sizes) < 1024


# --- 08.liar --------------------------------------------------------------------------------------------------
def test_who_lies_is_who_does_not_show_another_byte_of_the_file(tmp_path: Path):
    for kind, loader in lesson_08.LOADERS.items():
        if kind == "library" and not find_spec("safetensors"):
            continue
        (folder := tmp_path / kind.replace(" ", "-")).mkdir()
        paths, layout, head = lesson_08.files(folder, 4096)
        arrays = carried.loader(kind, layout, head)(str(paths[kind]))
        before = {name: array.copy() for name, array in arrays.items()}
        data = np.fromfile(paths[kind], "u1")
        with paths[kind].open("r+b") as file:
            file.write(~data)
        same = [bool((array.view("u1") == before[name].view("u1")).any()) for name, array in arrays.items()]
        assert any(same) == loader.lies, kind


@pytest.mark.skipif(bool(maps.why_not()), reason="no /proc here")
def test_the_report_shows_what_such_processes_cost(tmp_path: Path):
    pytest.importorskip("safetensors")
    paths, layout, head = lesson_08.files(tmp_path, 4 * MiB)
    size = 16 * MiB
    for kind, (_, _, _, anonymous, file) in lesson_08.REPORT.items():
        run = measure(carried.used, kind, str(paths[kind]), layout, head, np.float64(1))
        assert run.ended == "returned", run.error
        assert (run.peak.anonymous > 0.9 * size) == (anonymous > 32) == lesson_08.LOADERS[kind].lies, kind
        if kind != "library":  # which has let go of its mapping before the sampler need have seen it
            assert (run.peak.file > 0.9 * size) == (file > 32), kind


@pytest.mark.parametrize("kind", [kind for kind, one in lesson_08.LOADERS.items() if one.lies])
def test_a_rule_that_misses_one_liar_does_not_pass(kind: str):
    if kind == "library" and not find_spec("safetensors"):
        pytest.skip("the library is not here")
    at = carried.loader("npy", {}, b"").__code__.co_freevars.index("kind")
    rule = f"load.__closure__[{at}].cell_contents != {kind!r} and {lesson_08.COPIED}"
    verdict = checked("08.liar", lesson_08.liars_by(rule))
    assert verdict.outcome == "not yet" and lesson_08.LOADERS[kind].why in verdict.because


def test_where_no_mappings_are_listed_another_way_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(maps, "why_not", lambda: "no /proc")
    assert "write other bytes into the file" in checked("08.liar", lesson_08.liars_by("True")).because


# --- a machine that shows less --------------------------------------------------------------------------------
@pytest.mark.parametrize("key", ["08.reader", "08.keeps"])
def test_where_no_kinds_of_memory_are_told_apart_the_heap_counter_stands_in(key: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sampler, "choose", lambda: sampler.Portable)
    verdict = checked(key, ONE[key].solution_source)
    assert verdict.outcome == "right" and "not measured here" in verdict.because
