"""What a name and a mapping lead to, and its picture."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from pictures import arrows, assert_fits, texts

from helpers.lessons.hazards.figures import names_and_files
from helpers.lessons.hazards.names import standing


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells which file is mapped")
def test_a_mapping_holds_the_file_and_not_its_name(tmp_path: Path):
    path = tmp_path / "weights"
    path.write_bytes(b"\1" * 5000)
    view = np.memmap(path, mode="r")
    inode = path.stat().st_ino
    os.truncate(path, 4100)
    cut = standing(path, view)
    assert cut == {"named": [inode, 4100, 1], "held": [inode, 4100, 1], "mapped": 5000}
    path.unlink()
    assert standing(path, view) == cut | {"named": None}
    path.write_bytes(b"\2")
    replaced = standing(path, view)
    assert replaced["named"] == [path.stat().st_ino, 1, 2]
    assert replaced["held"] == cut["held"]


def test_a_file_stands_once_and_each_way_has_its_arrow():
    old, new = [7, 1024, 1], [8, 4096, 2]
    cases = {
        "deleted": {"named": None, "held": old, "mapped": 4096},
        "replaced": {"named": new, "held": old, "mapped": 4096},
        "cut": {"named": old, "held": old, "mapped": 4096},
    }
    shown = names_and_files(cases, {1: "old", 2: "new"})
    assert shown.alt.endswith(
        "deleted: the name leads to no file, the mapping holds inode 7, 1 KiB: old. "
        "replaced: the name leads to inode 8, 4 KiB: new, the mapping holds inode 7, 1 KiB: old. "
        "cut: the name leads to inode 7, 1 KiB: old, the mapping holds inode 7, 1 KiB: old."
    )
    assert texts(shown).count("file") == 4
    assert len({str(arrow.get_path()) for arrow in arrows(shown)}) == 2 + 4 + 3
    assert_fits(shown)
