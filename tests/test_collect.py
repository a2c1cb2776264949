"""What root collects from students' homes on a hub: their own zips, and nothing that a link leads to."""

import os
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from helpers.folders import ROOT

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a hub's homes")


@pytest.fixture(scope="module")
def collect():
    spec = spec_from_file_location("collect", ROOT / "classroom" / "hub" / "collect.py")
    spec.loader.exec_module(module := module_from_spec(spec))
    return module


def test_only_a_students_own_zips_come_in(collect, tmp_path: Path, capsys: pytest.CaptureFixture):
    (folder := tmp_path / "my_lessons" / "hand-in").mkdir(parents=True)
    (folder / "02_ada.zip").write_bytes(b"PK")
    os.utime(folder / "02_ada.zip", ns=(1, 5))
    (tmp_path / "secret").write_bytes(b"of another")
    (folder / "03_link.zip").symlink_to(tmp_path / "secret")
    os.link(tmp_path / "secret", folder / "04_hard.zip")
    os.mkfifo(folder / "05_pipe.zip")
    with (folder / "06_large.zip").open("wb") as file:
        file.truncate(collect.LARGEST + 1)
    (folder / "notes.txt").write_bytes(b"")
    assert list(collect.handed_in(str(tmp_path), os.getuid())) == [("02_ada.zip", b"PK", 5)]
    said = capsys.readouterr().out
    assert [name in said for name in ("03_link", "04_hard", "05_pipe", "06_large", "notes")] == [True] * 4 + [False]
    assert not list(collect.handed_in(str(tmp_path), os.getuid() + 1)), "the home's owner says whose it is"


@pytest.mark.parametrize("part", ["my_lessons", "my_lessons/hand-in"])
def test_a_folder_that_is_a_link_isnt_followed(collect, tmp_path: Path, part: str):
    (tmp_path / "other" / "hand-in").mkdir(parents=True)
    (tmp_path / "other" / "hand-in" / "02_ada.zip").write_bytes(b"PK")
    home = tmp_path / "home"
    (home / part).parent.mkdir(parents=True)
    (home / part).symlink_to(tmp_path / "other" if part == "my_lessons" else tmp_path / "other" / "hand-in")
    with pytest.raises(OSError):
        list(collect.handed_in(str(home), os.getuid()))


def test_what_is_given_back_replaces_a_link_and_follows_none(collect, tmp_path: Path):
    """With whose rights, and into which home, `make rehearse` tries as root."""
    (secret := tmp_path / "secret").write_text("another's")
    folder = tmp_path / "feedback"
    collect.put(folder, "02.html", b"well done")
    (folder / "02.html").unlink()
    (folder / "02.html").symlink_to(secret)
    collect.put(folder, "02.html", b"well done")
    assert secret.read_text() == "another's" and (folder / "02.html").read_bytes() == b"well done"
    assert os.listdir(folder) == ["02.html"] and folder.stat().st_mode & 0o077 == 0
