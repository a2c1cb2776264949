"""What root collects from students' homes on a hub: their own zips, and nothing that a link leads
to.
"""

import contextlib
import os
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers.folders import ROOT

pwd = pytest.importorskip("pwd", reason="a hub's users")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="a hub's homes")


def script(name: str):
    spec = spec_from_file_location(name, ROOT / "classroom" / "hub" / f"{name}.py")
    spec.loader.exec_module(module := module_from_spec(spec))
    return module


@pytest.fixture(scope="module")
def collect():
    return script("collect")


def test_only_a_students_own_zips_come_in(collect, tmp_path: Path, capsys: pytest.CaptureFixture):
    (folder := tmp_path / "my_lessons" / "hand-in").mkdir(parents=True)
    (folder / "02_ada.zip").write_bytes(b"PK")
    os.utime(folder / "02_ada.zip", ns=(1, 5))  # a student may say so
    (tmp_path / "secret").write_bytes(b"of another")
    (folder / "03_link.zip").symlink_to(tmp_path / "secret")
    os.link(tmp_path / "secret", folder / "04_hard.zip")
    os.mkfifo(folder / "05_pipe.zip")
    with (folder / "06_large.zip").open("wb") as file:
        file.truncate(collect.LARGEST + 1)
    (folder / "07_folder.zip").mkdir()
    (folder / "notes.txt").write_bytes(b"")
    changed = (folder / "02_ada.zip").stat().st_ctime_ns
    assert list(collect.handed_in(str(tmp_path), os.getuid())) == [("02_ada.zip", b"PK", changed)]
    said = capsys.readouterr().out
    assert [
        name in said for name in ("03_link", "04_hard", "05_pipe", "06_large", "07_folder", "notes")
    ] == [True] * 5 + [False]
    assert not list(collect.handed_in(str(tmp_path), os.getuid() + 1)), (
        "the home's owner says whose it is"
    )


def test_what_a_student_has_made_first_is_not_opened(
    collect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A pipe would keep root waiting."""
    monkeypatch.setattr(collect.secrets, "token_hex", lambda: "known")
    os.mkfifo(tmp_path / ".known")
    with pytest.raises(FileExistsError):
        collect.put(tmp_path, "02.html", b"feedback")
    assert collect.put(tmp_path, "02.html", b"feedback").read_bytes() == b"feedback", (
        "and the pipe is gone"
    )


def test_nobodys_zips_fill_the_disk(
    collect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
):
    monkeypatch.setattr(collect, "TOGETHER", 5)
    (folder := tmp_path / "my_lessons" / "hand-in").mkdir(parents=True)
    for name in ("02_a.zip", "02_b.zip", "02_c.zip"):
        (folder / name).write_bytes(b"zip")
    assert [name for name, *_ in collect.handed_in(str(tmp_path), os.getuid())] == ["02_a.zip"]
    assert capsys.readouterr().out.count("left out: larger than") == 2


def test_a_folder_that_a_student_can_change_takes_nothing(
    collect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("SUDO_UID", raising=False)
    mine = SimpleNamespace(pw_uid=os.getuid(), pw_name="ada", pw_gid=os.getgid())
    another = SimpleNamespace(pw_uid=os.getuid() + 1, pw_name="bob", pw_gid=os.getgid())
    nobody = SimpleNamespace(pw_uid=os.getuid() + 1, pw_name="eve", pw_gid=os.getgid() + 1)
    assert f"{tmp_path} belongs to ada" == collect.opened_by_others(tmp_path, [mine])
    assert collect.opened_by_others(tmp_path, []) == ""
    monkeypatch.setenv("SUDO_UID", str(os.getuid()))
    assert collect.opened_by_others(tmp_path, [mine]) == ""
    (tmp_path / "inside").mkdir(0o700)
    tmp_path.chmod(0o775)  # as where everybody has a group of their own
    assert collect.opened_by_others(tmp_path, [nobody]) == ""
    assert collect.opened_by_others(tmp_path, [another]) == f"others may write into {tmp_path}"
    tmp_path.chmod(0o777)
    assert collect.opened_by_others(tmp_path, []) == f"others may write into {tmp_path}"
    within = collect.opened_by_others(tmp_path / "inside", [])
    assert within == f"others may write into {tmp_path}"
    tmp_path.chmod(0o1777)
    assert collect.opened_by_others(tmp_path / "inside", []) == ""
    monkeypatch.delenv("SUDO_UID")
    (name := tmp_path / "name").symlink_to("/usr")
    assert collect.opened_by_others(name, [mine]) == f"{name} belongs to ada"


def test_one_lesson_is_collected_at_a_time_and_what_is_withdrawn_is_named(
    collect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    monkeypatch.setattr(collect, "rights_of", contextlib.nullcontext)
    (folder := tmp_path / "my_lessons" / "hand-in").mkdir(parents=True)
    for name in ("02_ada.zip", "05_ada.zip"):
        (folder / name).write_bytes(b"PK")
    ada = SimpleNamespace(pw_name="ada", pw_dir=str(tmp_path), pw_uid=os.getuid())
    (into := tmp_path / "collected" / "02").mkdir(parents=True)
    assert collect.collect(ada, into, "02") == 1
    assert os.listdir(into / "ada") == ["02_ada.zip"]
    (folder / "02_ada.zip").unlink()
    assert collect.collect(ada, into, "02") == 0
    assert (into / "ada" / "02_ada.zip").exists()
    assert capsys.readouterr().out == f"{into}/ada/02_ada.zip isn't handed in any more\n"


def test_no_member_of_the_group_keeps_the_others_out(
    collect, monkeypatch: pytest.MonkeyPatch, capsys
):
    """Neither one without an account, nor one who has the group as the first."""
    me = pwd.getpwuid(os.getuid())
    found = SimpleNamespace(gr_mem=["no-such-user", me.pw_name], gr_gid=me.pw_gid)
    monkeypatch.setattr(collect.grp, "getgrnam", lambda name: found)
    monkeypatch.setattr(collect.pwd, "getpwall", lambda: [me])
    assert list(collect.members("zero-copy")) == [me]
    found.gr_mem = []
    assert list(collect.members("zero-copy")) == [me]
    assert "no-such-user is in the group zero-copy, but has no account\n" in capsys.readouterr().out


@pytest.mark.parametrize("part", ["my_lessons", "my_lessons/hand-in"])
def test_a_folder_that_is_a_link_isnt_followed(collect, tmp_path: Path, part: str):
    (tmp_path / "other" / "hand-in").mkdir(parents=True)
    (tmp_path / "other" / "hand-in" / "02_ada.zip").write_bytes(b"PK")
    home = tmp_path / "home"
    (home / part).parent.mkdir(parents=True)
    (home / part).symlink_to(
        tmp_path / "other" if part == "my_lessons" else tmp_path / "other" / "hand-in"
    )
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
    assert secret.read_text() == "another's"
    assert (folder / "02.html").read_bytes() == b"well done"
    assert os.listdir(folder) == ["02.html"]
    assert folder.stat().st_mode & 0o077 == 0


def test_what_runs_under_a_lent_number_leaves_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """But not under one that is somebody else's."""
    leave = script("leave")
    ada = SimpleNamespace(pw_name="ada", pw_uid=2_000_000)
    monkeypatch.setattr(leave, "SUBUID", tmp_path / "subuid")
    others = f"ada:5000000:9\nben:5000008:2\nada:{os.getuid()}:1\n"
    leave.SUBUID.write_text(f"ada:3000000:9\n{ada.pw_uid}:4000000:9\n{others}")
    ours = [range(first, first + 9) for first in (3_000_000, 4_000_000)]
    assert leave.numbers_of(ada) == [range(2_000_000, 2_000_001), *ours]
    assert leave.processes([range(os.getuid(), os.getuid() + 1)])[os.getpid()] == {os.getuid()}


def test_neither_deep_folders_nor_names_keep_a_student_from_leaving(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The names of all folders below each other would fill root's memory."""
    leave = script("leave")
    started = leave.subprocess.Popen
    (theirs := tmp_path / "theirs").mkdir()
    (theirs / "\x1b]0;title\x07").touch()
    at = os.open(theirs, os.O_RDONLY)
    for _ in range(100):
        os.mkdir("d" * 250, dir_fd=at)
        above, at = at, os.open("d" * 250, os.O_RDONLY, dir_fd=at)
        os.close(above)
    os.close(at)

    def find(command: list, **how):
        return started(["find", theirs, *command[command.index("-xdev") :]], **how)

    monkeypatch.setattr(leave.subprocess, "Popen", find)
    mine = [range(os.getuid(), os.getuid() + 1)]
    found = leave.files(mine, "-print")
    assert found and sum(map(len, found)) < 100_000 and "".join(found).isprintable()
    assert not leave.files(mine, "-delete") and not theirs.exists()
