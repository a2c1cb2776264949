"""A disk's read-ahead decides how much a look-up reads, and nothing of the test disk is left."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.lessons.reading.disks import by_read_ahead
from helpers.measure import NotMeasuredHere
from helpers.units import MiB


@pytest.fixture
def file(disk: Path) -> Path:
    (path := disk / "file").write_bytes(os.urandom(4 * MiB))
    return path


def four_bytes(path: Path) -> int:
    import mmap

    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
        return len(bytes(mapping[at] for at in range(2**19, 2**22, 2**20)))


@pytest.mark.needs(tool="root")
def test_a_wider_window_brings_more(file: Path):
    runs = by_read_ahead(four_bytes, file, ["64 KiB", "512 KiB"])
    narrow, wide = (run.io.device_read_bytes for run in runs.values())
    assert [run.value for run in runs.values()] == [4, 4]
    assert 4 < wide / narrow < 10
    assert [run.machine.read_ahead for run in runs.values()] == [
        2**16,
        2**19,
    ]
    assert [path.name for path in file.parent.iterdir()] == ["file"]
    assert (
        str(file.parent)
        not in subprocess.run(["losetup", "--all"], capture_output=True, text=True).stdout
    )


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no root")
def test_only_root_can_have_such_disks(file: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(NotMeasuredHere, match="only root on Linux"):
        by_read_ahead(four_bytes, file, ["64 KiB"])


def test_the_kernel_takes_whole_kib(file: Path):
    with pytest.raises(ValueError, match="a read-ahead of 1000 bytes; the kernel takes whole KiB"):
        by_read_ahead(four_bytes, file, [1000])
