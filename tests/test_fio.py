"""fio's reads and the bytes from the device: through the page cache, and bypassing it."""

from pathlib import Path

import pytest

from helpers.lessons.reading.disks import fio
from helpers.measure import NotMeasuredHere, drop_from_cache
from helpers.units import MiB

needs_fio = pytest.mark.needs(tool="fio")


@pytest.fixture
def blocks(disk: Path) -> Path:
    (path := disk / "blocks").write_bytes(bytes(range(256)) * (MiB // 256))
    return path


@pytest.mark.measured
@needs_fio
def test_a_file_that_stays_warm_is_read_from_memory(blocks: Path):
    if drop_from_cache(blocks).share:
        pytest.skip("on this file system, no file gets cold")
    # warm first: what `default` reads becomes warm
    jobs = fio({"warm": "--invalidate=0", "default": ""}, blocks)
    from_device = {
        name: run.io.device_read_bytes / run.value["bytes"] for name, run in jobs.items()
    }
    assert {run.value["bytes"] for run in jobs.values()} == {4 * MiB}
    assert from_device["warm"] < 0.1 < from_device["default"] < 0.6, (
        "fio drops the file first, then reads it again"
    )
    assert jobs["warm"].value["version"].startswith("fio-")
    assert jobs["warm"].value["per second"] > 1024, "all of them are 1,024, and from memory"


@needs_fio
def test_a_job_that_fails_says_why(blocks: Path):
    with pytest.raises(NotMeasuredHere, match=r"fio's job 'odd' ended with .*nothing"):
        fio({"odd": "--ioengine=nothing"}, blocks)


def test_without_fio_nothing_is_measured(blocks: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(blocks.parent))
    with pytest.raises(NotMeasuredHere, match="fio is not installed"):
        fio({"default": ""}, blocks)
