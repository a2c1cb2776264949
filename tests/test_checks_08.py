"""Lesson 08's checks: every damaged file must be refused, and the loaders said to copy do copy."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from helpers.measure import maps, measure
from helpers.teach import exercise
from helpers.teach.exercise_files import check
from helpers.teach.judging import NotYet, held

pytestmark = pytest.mark.usefixtures("nothing_is_left")

reader, liar = (check(exercise(key).folder) for key in ("08.reader", "08.liar"))


def test_a_damaged_file_is_refused_by_the_solution_and_a_sound_one_is_read(tmp_path: Path):
    one = exercise("08.reader")
    read = one.made(one.solution_source)
    for what, content in reader.small_files().items():
        (path := tmp_path / "small.zcm").write_bytes(content)
        [(refused, got)] = reader.refusals(read, [str(path)], np)
        assert refused == (what != reader.SOUND), f"{what}: {got}"


def test_a_loader_copies_if_it_does_not_show_another_byte_of_the_file(tmp_path: Path):
    for kind, loader in liar.LOADERS.items():
        if kind == "library" and not find_spec("safetensors"):
            continue
        (folder := tmp_path / kind.replace(" ", "-")).mkdir()
        paths, layout, head = liar.files(folder, 4096)
        arrays = liar.loaders(layout, head)[kind](paths[kind])
        before = {name: array.copy() for name, array in arrays.items()}
        data = np.fromfile(paths[kind], "u1")
        with paths[kind].open("r+b") as file:
            file.write(~data)
        same = [
            bool((array.view("u1") == before[name].view("u1")).any())
            for name, array in arrays.items()
        ]
        assert any(same) == loader["copies"], kind


def test_one_loader_misjudged_is_enough():
    names = dict(zip(liar.LOADERS, liar.NAMES, strict=True))
    copy = {name for kind, name in names.items() if liar.LOADERS[kind]["copies"]}
    liar.exactly_those(sorted(copy), names)
    for name in names.values():
        with pytest.raises(NotYet, match=f"`{name}`") as slip:
            liar.exactly_those(sorted(copy ^ {name}), names)
        assert slip.value.cause == ("missed" if name in copy else "accused")


LEFT = []


def views(path: Path, keep: bool) -> list:
    data = np.memmap(path, "u1", "r")
    LEFT.extend([data, path.open("rb")] if keep else [])
    return [data[:4] if keep else None, data[:4].copy()]


@pytest.mark.parametrize("keep", [True, False])
def test_what_a_process_still_has_is_seen_from_outside_and_views_show_what_is_written_meanwhile(
    tmp_path, keep
):
    (path := tmp_path / "file.bin").write_bytes(b"old bytes")
    still = set()

    def look(pid: int) -> None:
        still.update(held(pid, tmp_path))
        with path.open("r+b") as file:
            file.write(b"new")

    view, copy = measure(views, path, keep, inspect=look).value
    assert bytes(copy) == b"old "
    assert view is None or bytes(view) == b"new "
    assert still == ({"mapped", "open"} if keep and not maps.why_not() else set())
