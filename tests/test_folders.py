"""Where things live, and small files written whole or not at all."""

import os
import shutil
import stat

import pytest

from helpers import folders
from helpers.folders import write_whole
from helpers.whole import whole_file


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
    with whole_file(link, 5) as large:
        large.write(b"newer")
    assert link.is_symlink() and file.read_text() == "newer" and stat.S_IMODE(file.stat().st_mode) == 0o640


@pytest.mark.skipif(os.name != "posix", reason="pipes and links")
def test_what_is_no_file_is_refused_and_stays(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name, words in (("pipe", "device or a pipe"), ("link", "device or a pipe"), ("", "this is a folder")):
        with pytest.raises(OSError, match=words):
            write_whole(tmp_path / name, "new")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode) and (tmp_path / "link").is_symlink()


def test_too_little_room_is_found_out_before(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("old")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9, 8, 1))
    with pytest.raises(OSError, match=r"only when the new one is whole.* needs 3 B .*make room"):
        write_whole(tmp_path / "file", "new")
    assert (tmp_path / "file").read_text() == "old"


def test_what_a_killed_process_left_goes(tmp_path):
    (tmp_path / ".file.01234567.unfinished").touch()
    write_whole(tmp_path / "file", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("no")))
    with pytest.raises(OSError, match="no"):
        write_whole(file, "new")
    assert file.read_text() == "old" and [path.name for path in tmp_path.iterdir()] == ["file"]
