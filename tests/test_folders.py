"""Where things live; files are written whole or not at all, and read only if they're regular files."""

import errno
import os
import shutil
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from helpers import folders
from helpers.folders import write_whole
from helpers.ideas.arena import Arena, snapshot
from helpers.ideas.carts import MappedFile
from helpers.ideas.kmers import KmerIndex
from helpers.ideas.safetensors import ShardedFile, TensorFile, save
from helpers.make import dna, random_file
from helpers.measure import drop_from_cache
from helpers.publish.tidy import is_tidy, tidy
from helpers.whole import followed, whole_file


def test_folders_follow_the_environment_and_are_made(tmp_path, monkeypatch):
    monkeypatch.setenv("ZERO_COPY_DATA", str(tmp_path / "class" / "data"))
    monkeypatch.setenv("ZERO_COPY_STATE", str(tmp_path / "mine"))
    assert folders.generated() == tmp_path / "class" / "data" and folders.generated().is_dir()
    assert folders.state() == tmp_path / "mine" and folders.state().is_dir()
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
    names = {name: folders.file_system(tmp_path / name / "file") for name in (".", "seen", "hidden", "..")}
    assert names == {".": "tmpfs", "seen": "overlay on tmpfs", "hidden": "overlay", "..": "ext4"}
    assert [folders.in_memory(name) for name in names.values()] == [True, True, False, False]
    assert not folders.in_memory(None) and not folders.in_memory("tmpfs of 1 MiB")


@pytest.mark.skipif(os.name != "posix", reason="mount tables")
def test_instead_of_memory_a_disk_is_taken_if_there_is_one(tmp_path, mount, monkeypatch, capsys):
    lessons, caches = tmp_path / "lessons", tmp_path / "caches"
    mount(lessons, "tmpfs")
    monkeypatch.setattr(folders, "DATA", lessons / "data")
    monkeypatch.setenv("XDG_CACHE_HOME", str(caches))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert tmp_path in folders.generated().parents and lessons not in folders.generated().parents
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


READERS = {
    "MappedFile": MappedFile, "TensorFile": TensorFile, "ShardedFile": ShardedFile,
    "Arena": partial(Arena.open, layout=""),
    "KmerIndex": lambda path: KmerIndex.of(path, 4, path.with_name("index")), "drop_from_cache": drop_from_cache,
    "tidy": tidy, "is_tidy": is_tidy,
}  # fmt: skip


@pytest.mark.skipif(os.name != "posix", reason="pipes and links")
@pytest.mark.parametrize("reader", READERS)
def test_what_reads_files_neither_waits_for_a_pipe_nor_reads_a_device(tmp_path: Path, reader: str):
    pipe, device = tmp_path / "pipe", tmp_path / "device"
    os.mkfifo(pipe)
    device.symlink_to("/dev/null")
    with ThreadPoolExecutor() as pool:
        for path in (pipe, device):
            job = pool.submit(READERS[reader], path)
            try:
                error = job.exception(timeout=10)
            finally:
                os.close(os.open(pipe, os.O_RDWR))  # releases a reader that waits for a writer
            assert isinstance(error, OSError) and "a device or a pipe, not a regular file" in str(error)
            assert error.filename == str(path)


WRITERS: dict[str, Callable[[Path], object]] = {
    "write_whole": lambda path: write_whole(path, "new"), "save": lambda path: save({"a": np.ones(3)}, path),
    "snapshot": lambda path: snapshot(path, "", lambda builder: None).close(),
    "random_file": lambda path: random_file(path, 10), "dna": lambda path: dna(path, 10),
}  # fmt: skip


@pytest.mark.skipif(os.name != "posix", reason="links")
@pytest.mark.parametrize("writer", WRITERS)
def test_links_that_lead_in_a_circle_are_named(tmp_path: Path, writer: str):
    for name, other in ("ab", "ba"):
        (tmp_path / name).symlink_to(other)
    with pytest.raises(OSError) as caught:
        WRITERS[writer](tmp_path / "a")
    assert caught.value.errno == errno.ELOOP and caught.value.filename == str(tmp_path / "a")
    assert sorted(os.listdir(tmp_path)) == ["a", "b"] and (tmp_path / "a").is_symlink()


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("name", ["n" * 255, "é" * 127])
def test_names_as_long_as_a_file_system_takes(tmp_path: Path, writer: str, name: str):
    try:
        (tmp_path / name).touch()
        (tmp_path / name).unlink()
    except OSError as error:
        pytest.skip(f"not here: {error}")
    WRITERS[writer](tmp_path / name)
    assert os.listdir(tmp_path) == [name]


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_a_path_is_followed_to_where_it_leads(tmp_path: Path):
    (tmp_path / "link").symlink_to("missing")
    assert followed(tmp_path / "link") == tmp_path.resolve() / "missing"
    assert followed(tmp_path / "no" / "file") == tmp_path.resolve() / "no" / "file"


FULL = """
    import resource, sys
    from pathlib import Path
    import numpy as np
    from helpers.ideas.arena import snapshot
    from helpers.ideas.safetensors import save
    from helpers.make import dna

    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    for write in (lambda path: save({"a": np.ones(50_000)}, path), lambda path: dna(path, 300_000),
                  lambda path: snapshot(path, "", lambda builder: builder.place(np.ones(50_000)), b"other")):
        try:
            write(Path(sys.argv[1]))
        except OSError as error:
            print(error.errno)
"""


@pytest.mark.skipif(os.name != "posix", reason="limits of resources")
def test_a_disk_that_is_full_in_the_middle_leaves_the_old_file(tmp_path: Path):
    """A limit on file size stands in for it: there too, write(2) fails after some bytes."""
    snapshot(tmp_path / "file", "", lambda builder: builder.place(np.ones(3))).close()
    before = (tmp_path / "file").read_bytes()
    environment = os.environ | {"ZERO_COPY_DATA": str(tmp_path)}
    command = [sys.executable, "-c", textwrap.dedent(FULL), str(tmp_path / "file")]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True).stdout
    assert said.split() == [str(errno.EFBIG)] * 3
    assert (tmp_path / "file").read_bytes() == before and os.listdir(tmp_path) == ["file"]


def test_too_little_room_is_found_out_before(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("old")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9, 8, 1))
    with pytest.raises(OSError, match=r"only when the new one is complete.* needs 3 B .*make room"):
        write_whole(tmp_path / "file", "new")
    assert (tmp_path / "file").read_text() == "old"


@pytest.mark.parametrize("name", ["file", "f" * 100])
def test_what_a_killed_process_left_goes(tmp_path, name):
    (tmp_path / f".{name[:50]}.01234567.unfinished").touch()
    write_whole(tmp_path / name, "new")
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.skipif(os.name != "posix", reason="pipes")
def test_a_pipe_of_such_a_name_is_nobody_s_left_over(tmp_path):
    pipe = tmp_path / ".file.01234567.unfinished"
    os.mkfifo(pipe)
    both = os.open(pipe, os.O_RDWR)  # so that opening it blocks nobody
    write_whole(tmp_path / "file", "new")
    os.close(both)
    assert pipe.is_fifo() and (tmp_path / "file").read_text() == "new"


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("no")))
    with pytest.raises(OSError, match="no"):
        write_whole(file, "new")
    assert file.read_text() == "old" and [path.name for path in tmp_path.iterdir()] == ["file"]
