"""Lesson 08's checks: every damage is asked for, and whoever is said to copy does."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from helpers.teach import exercise
from helpers.teach.exercise_files import check
from helpers.teach.judging import Attempt, NotYet

pytestmark = pytest.mark.usefixtures("nothing_is_left")

reader, liar = (check(exercise(key).folder) for key in ("08.reader", "08.liar"))


@pytest.mark.parametrize("kind", reader.DAMAGES)
def test_a_reader_that_lets_one_damage_pass_is_told(kind: str, tmp_path: Path):
    one = exercise("08.reader")
    read = one.made(one.solution_source)

    def careless(path):
        try:
            return read(path)
        except ValueError:
            if path.endswith(f"/{kind}.zcm"):
                return {}
            raise

    with pytest.raises(NotYet, match=reader.DAMAGES[kind].replace("*", r"\*")) as slip:
        reader.refuses(Attempt(careless, 0, 20, tmp_path))
    assert slip.value.cause == "not-refused"


def test_a_loader_copies_if_it_does_not_show_another_byte_of_the_file(tmp_path: Path):
    for kind, loader in liar.LOADERS.items():
        if kind == "library" and not find_spec("safetensors"):
            continue
        (folder := tmp_path / kind.replace(" ", "-")).mkdir()
        paths, layout, head = liar.files(folder, 4096)
        arrays = liar.loader(kind, layout, head)(str(paths[kind]))
        before = {name: array.copy() for name, array in arrays.items()}
        data = np.fromfile(paths[kind], "u1")
        with paths[kind].open("r+b") as file:
            file.write(~data)
        same = [bool((array.view("u1") == before[name].view("u1")).any()) for name, array in arrays.items()]
        assert any(same) == loader["copies"], kind


def test_one_loader_misjudged_is_enough():
    names = dict(zip(liar.LOADERS, liar.NAMES, strict=True))
    copy = {name for kind, name in names.items() if liar.LOADERS[kind]["copies"]}
    liar.exactly_those("names", sorted(copy), names)
    for kind, name in names.items():
        with pytest.raises(NotYet) as slip:
            liar.exactly_those("names", sorted(copy ^ {name}), names)
        assert slip.value.cause == ("missed" if name in copy else "accused") and liar.LOADERS[kind]["why"] in str(
            slip.value
        )
