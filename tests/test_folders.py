"""Where things live, and small files written whole or not at all."""

import os
import stat

import pytest

from helpers import folders
from helpers.folders import write_whole


def test_folders_follow_the_environment_and_are_made(tmp_path, monkeypatch):
    monkeypatch.setenv("ZERO_COPY_DATA", str(tmp_path / "class" / "data"))
    monkeypatch.setenv("ZERO_COPY_STATE", str(tmp_path / "mine"))
    assert folders.generated() == tmp_path / "class" / "data" and folders.generated().is_dir()
    assert folders.state() == tmp_path / "mine" and folders.state().is_dir()
    monkeypatch.delenv("ZERO_COPY_DATA")
    assert folders.generated() == folders.DATA / "generated"


def test_a_file_appears_whole(tmp_path):
    write_whole(tmp_path / "new.txt", "größer\n")
    write_whole(tmp_path / "new.bin", b"\0\1")
    assert (tmp_path / "new.txt").read_bytes() == "größer\n".encode()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.bin", "new.txt"]


@pytest.mark.skipif(os.name != "posix", reason="permissions and links")
def test_permissions_and_links_stay(tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file)
    write_whole(link, "new")
    assert link.is_symlink() and file.read_text() == "new" and stat.S_IMODE(file.stat().st_mode) == 0o640


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("no")))
    with pytest.raises(OSError, match="no"):
        write_whole(file, "new")
    assert file.read_text() == "old" and [path.name for path in tmp_path.iterdir()] == ["file"]
