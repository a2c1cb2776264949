"""Where things live, and what reads files reads regular files only."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from helpers import folders
from helpers.ideas.arena import Arena
from helpers.ideas.carts import MappedFile
from helpers.ideas.kmers import KmerIndex
from helpers.ideas.safetensors import ShardedFile, TensorFile
from helpers.measure import drop_from_cache
from helpers.publish.tidy import tidy


def test_folders_follow_the_environment_and_are_made(tmp_path, monkeypatch):
    monkeypatch.setenv("ZERO_COPY_DATA", str(tmp_path / "class" / "data"))
    monkeypatch.setenv("ZERO_COPY_STATE", str(tmp_path / "mine"))
    assert folders.generated() == tmp_path / "class" / "data"
    assert folders.generated().is_dir()
    assert folders.state() == tmp_path / "mine"
    assert folders.state().is_dir()
    monkeypatch.delenv("ZERO_COPY_DATA")
    monkeypatch.setattr(folders, "in_memory", lambda system: False)
    monkeypatch.setattr(folders, "DATA", tmp_path)
    assert folders.generated() == tmp_path / "generated"


@pytest.fixture
def mount(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A mount table of ext4, and of what a test adds."""
    table = [SimpleNamespace(mountpoint="/", fstype="ext4", opts="rw")]
    monkeypatch.setattr(psutil, "disk_partitions", lambda all: table)
    monkeypatch.delenv("ZERO_COPY_DATA", raising=False)

    def add(path: Path, kind: str, options: str = "rw") -> None:
        table.append(SimpleNamespace(mountpoint=str(path), fstype=kind, opts=options))

    return add


@pytest.mark.skipif(os.name != "posix", reason="mount tables")
def test_a_file_system_is_named_with_the_one_below(tmp_path, mount):
    (tmp_path / "upper").mkdir()
    mount(tmp_path, "tmpfs")
    mount(tmp_path / "seen", "overlay", f"rw,lowerdir=/,upperdir={tmp_path}/upper,workdir=/w")
    mount(tmp_path / "hidden", "overlay", f"rw,lowerdir=/,upperdir={tmp_path}/not-here,workdir=/w")
    names = {
        name: folders.file_system(tmp_path / name / "file")
        for name in (".", "seen", "hidden", "..")
    }
    assert names == {".": "tmpfs", "seen": "overlay on tmpfs", "hidden": "overlay", "..": "ext4"}
    assert [folders.in_memory(name) for name in names.values()] == [True, True, False, False]
    assert not folders.in_memory(None)
    assert not folders.in_memory("tmpfs of 1 MiB")


@pytest.mark.skipif(os.name != "posix", reason="mount tables")
def test_instead_of_memory_a_disk_is_taken_if_there_is_one(tmp_path, mount, monkeypatch, capsys):
    lessons = tmp_path / "lessons"
    caches = tmp_path / "caches"
    mount(lessons, "tmpfs")
    monkeypatch.setattr(folders, "DATA", lessons / "data")
    monkeypatch.setenv("XDG_CACHE_HOME", str(caches))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert tmp_path in folders.generated().parents
    assert lessons not in folders.generated().parents
    said = capsys.readouterr().out
    assert said.count("is in memory, where there's no disk to measure. Generated files go to") == 1
    assert str(tmp_path) not in said, "a handout would name the machine's folders"
    monkeypatch.setenv("ZERO_COPY_DATA", str(lessons / "mine"))
    assert folders.generated() == lessons / "mine", "whoever names a folder gets it"
    monkeypatch.delenv("ZERO_COPY_DATA")
    mount(tmp_path, "tmpfs")
    monkeypatch.setattr(folders, "DATA", lessons / "other")
    assert folders.generated() == lessons / "other" / "generated", "there is no disk"
    assert capsys.readouterr().out == ""


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_in_a_course_that_many_share_files_go_to_ones_home(tmp_path, mount, monkeypatch, capsys):
    course = tmp_path / "course"
    home = tmp_path / "home"
    course.mkdir(mode=0o555)
    for name, value in {"ROOT": course, "DATA": course / "data", "NOTEBOOKS": tmp_path}.items():
        monkeypatch.setattr(folders, name, value)
    for name, value in {"HOME": home, "XDG_CACHE_HOME": home / "caches"}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.delenv("ZERO_COPY_WORK", raising=False)
    assert folders.generated().parent == home / "caches"
    assert folders.work() == home / "my_lessons"
    assert folders.typed("fresh LESSON=02") == f"make -C {course} fresh LESSON=02"
    assert capsys.readouterr().out == "", "each student would read it in each lesson"
    course.chmod(0o755)
    assert folders.work() == course / "my_lessons"
    assert folders.typed("lab") == "make lab"


READERS = {
    "MappedFile": MappedFile,
    "TensorFile": TensorFile,
    "ShardedFile": ShardedFile,
    "Arena": partial(Arena.open, layout=""),
    "KmerIndex": lambda path: KmerIndex.of(path, 4, path.with_name("index")),
    "drop_from_cache": drop_from_cache,
    "tidy": tidy,
}


@pytest.mark.skipif(os.name != "posix", reason="pipes and links")
@pytest.mark.parametrize("reader", READERS)
def test_what_reads_files_neither_waits_for_a_pipe_nor_reads_a_device(tmp_path: Path, reader: str):
    pipe = tmp_path / "pipe"
    device = tmp_path / "device"
    os.mkfifo(pipe)
    device.symlink_to("/dev/null")
    with ThreadPoolExecutor() as pool:
        for path in (pipe, device):
            try:
                error = pool.submit(READERS[reader], path).exception(timeout=10)
            finally:
                os.close(os.open(pipe, os.O_RDWR))  # releases a reader that waits for a writer
            assert isinstance(error, OSError)
            assert "a device or a pipe, not a regular file" in str(error)
            assert error.filename == str(path)
