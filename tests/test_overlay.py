"""An overlay file system is made for one process, works as the kernel's documentation says, and is
gone afterwards.
"""

from pathlib import Path

import pytest

from helpers.lessons.forking import overlay
from helpers.lessons.forking.overlay import on_overlay
from helpers.measure import NotMeasuredHere, environment


def layers(folder: Path, mode: str) -> tuple[list[str], bytes, int]:
    with open(folder / "merged" / "image file", mode) as file:
        if mode != "rb":
            file.write(b"!")
        file.seek(0)
        seen = file.read()
    return [found.name for found in folder.glob("upper/*")], seen, (folder / "merged").stat().st_dev


def mounts() -> str:
    return Path("/proc/self/mounts").read_text() if Path("/proc/self/mounts").exists() else ""


@pytest.fixture
def image(tmp_path: Path) -> Path:
    (path := tmp_path / "image file").write_bytes(b"content")
    return path


@pytest.mark.needs(tool="namespaces")
def test_only_what_is_opened_for_writing_is_copied_up(image: Path):
    before = mounts()
    assert on_overlay(layers, image, "rb").value[:2] == ([], b"content")
    run = on_overlay(layers, image, "r+b")
    assert run.value[:2] == (["image file"], b"!ontent")
    assert image.read_bytes() == b"content"
    assert mounts() == before
    assert run.machine.file_system == "an overlay of layers in memory"


def test_a_file_that_is_not_there_is_an_error_here(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        on_overlay(layers, tmp_path / "none", "rb")


def test_where_it_cannot_be_made_nothing_runs(image: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(overlay, "MOUNT", "echo no mounts >&2; false")
    with pytest.raises(NotMeasuredHere, match="no overlay can be made here"):
        on_overlay(layers, image, "rb")
    monkeypatch.setattr(environment.sys, "platform", "darwin")
    with pytest.raises(NotMeasuredHere, match="needs Linux"):
        on_overlay(layers, image, "rb")
