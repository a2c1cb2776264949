"""What the kernel itself says: whether a file can be mapped, and how often processors interrupted
each other.
"""

import errno
import os
import sys
from pathlib import Path

import pytest

from helpers.lessons.reading.kernel import map_a_page, shootdowns


@pytest.mark.skipif(sys.platform != "linux", reason="what Linux maps")
def test_the_kernel_maps_an_empty_file_and_refuses_what_has_no_pages(tmp_path: Path):
    (tmp_path / "empty").touch()
    empty, folder, status = (
        os.open(at, os.O_RDONLY) for at in (tmp_path / "empty", tmp_path, "/proc/self/status")
    )
    pipe, end = os.pipe()
    try:
        map_a_page(empty)
        for pageless in (folder, status, pipe):
            with pytest.raises(OSError) as refused:
                map_a_page(pageless)
            assert refused.value.errno == errno.ENODEV
    finally:
        for descriptor in (empty, folder, status, pipe, end):
            os.close(descriptor)
    with pytest.raises(OSError) as closed:
        map_a_page(empty)
    assert closed.value.errno == errno.EBADF


@pytest.mark.skipif(sys.platform != "linux", reason="regions of /proc")
def test_a_page_that_was_mapped_is_unmapped(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"x")
    with (tmp_path / "file").open("rb") as file:
        map_a_page(file.fileno())
    assert str(tmp_path / "file") not in Path("/proc/self/maps").read_text()


def test_shootdowns_are_summed_over_processors(tmp_path: Path):
    rows = tmp_path / "interrupts"
    rows.write_text(
        "           CPU0       CPU1\n  0:   9   9   timer\nTLB:     12     30   TLB shootdowns\n"
    )
    assert shootdowns(rows) == 42
    rows.write_text("           CPU0\nIPI0:     12   Rescheduling interrupts\n")
    assert shootdowns(rows) is None
    assert shootdowns(tmp_path / "nothing") is None
