"""What the kernel itself says: whether a file can be mapped."""

import errno
import os
import sys
from pathlib import Path

import pytest

from helpers.lessons.reading.kernel import map_a_page


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
