"""The promise of a whole file on disk, folders that vanish, and random files: their bytes, and
which files they may replace.
"""

import errno
import hashlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from serving import until
from tables import each_of

from helpers import safe_files, widgets
from helpers.folders import generated, scratch_folder, write_whole
from helpers.make import dna, pieces, random_file, scratch, whole_file
from helpers.units import MiB

pytestmark = pytest.mark.usefixtures("own_folder")
unix_only = pytest.mark.skipif(
    os.name == "nt", reason="signals, links, modes and file locks as Unix has them"
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def identity(path: Path) -> tuple[int, int]:
    return path.stat().st_ino, path.stat().st_mtime_ns


# --- whole files ----------------------------------------------------------------------------------
def test_a_file_is_synced_before_the_rename_and_its_folder_after(tmp_path, monkeypatch):
    events = []
    fsync = os.fsync
    replace = os.replace

    def spied_fsync(fd):
        what = os.fstat(fd)
        events.append("folder" if stat.S_ISDIR(what.st_mode) else f"file of {what.st_size}")
        fsync(fd)

    def spied_replace(old, new):
        events.append("rename")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", spied_fsync)
    monkeypatch.setattr(os, "replace", spied_replace)
    with whole_file(tmp_path / "a", 5) as file:
        file.write(b"hello")
        assert not (tmp_path / "a").exists()
    assert events == ["file of 5", "rename", *["folder"] * (os.name != "nt")]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("old")
    with pytest.raises(ZeroDivisionError), whole_file(tmp_path / "a", 5) as file:
        file.write(b"new")
        file.flush()
        raise ZeroDivisionError
    assert names(tmp_path) == ["a"]
    assert (tmp_path / "a").read_text() == "old"
    monkeypatch.setattr(os, "replace", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_whole(tmp_path / "a", "new")
    assert names(tmp_path) == ["a"]
    assert (tmp_path / "a").read_text() == "old"


@unix_only
def test_links_and_permissions_stay(tmp_path):
    (tmp_path / "usual").touch()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    write_whole(tmp_path / "link", "größer")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a").read_bytes() == "größer".encode()
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "usual").stat().st_mode
    for mode in (0o600, 0o640, 0o444):
        (tmp_path / "a").chmod(mode)
        write_whole(tmp_path / "link", b"\0\1")
        assert (tmp_path / "a").read_bytes() == b"\0\1"
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode


@unix_only
def test_what_cannot_be_a_file_is_refused_and_stays(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name, words in (
        ("pipe", "device or a pipe"),
        ("link", "device or a pipe"),
        ("", "this is a folder"),
    ):
        with pytest.raises(OSError, match=words):
            write_whole(tmp_path / name, "new")
    with pytest.raises(FileNotFoundError, match="no such folder") as caught:
        write_whole(tmp_path / "nowhere" / "a", "new")
    assert caught.value.filename == str(tmp_path / "nowhere")
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(OSError) as caught:
        write_whole(tmp_path / "circle", "new")
    assert caught.value.errno == errno.ELOOP
    assert caught.value.filename == str(tmp_path / "circle")
    assert names(tmp_path) == ["circle", "link", "pipe"]
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("name", ["n" * 255, "é" * 127, "[a-z]*"])
def test_names_as_long_and_as_odd_as_a_file_system_takes(tmp_path: Path, name: str):
    try:
        (tmp_path / name).touch()
    except OSError as error:
        pytest.skip(f"not here: {error}")
    (tmp_path / f".{name[:50]}-01234567.partial").mkdir()
    write_whole(tmp_path / name, "new")
    assert os.listdir(tmp_path) == [name]


def test_too_little_room_is_found_out_before(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("old")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9, 8, 1))
    with pytest.raises(
        OSError, match=r"only when the new one is complete.* needs 3 B .*make room"
    ) as caught:
        write_whole(tmp_path / "file", "new")
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(tmp_path)
    assert (tmp_path / "file").read_text() == "old"
    assert names(tmp_path) == ["file"]


@unix_only
def test_a_disk_that_is_full_in_the_middle_leaves_the_old_file(tmp_path: Path):
    """A limit on file size stands in for it: there too, write(2) fails after some bytes."""
    code = (
        "import resource, sys; from helpers.make import random_file\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({3 * MiB}, {3 * MiB}))\n"
        "try: random_file(sys.argv[1], '64 MiB')\n"
        "except OSError as error: print(error.errno)\n"
    )
    old = random_file(tmp_path / "a", 10).read_bytes()
    run = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "a"], capture_output=True, text=True, timeout=60
    )
    assert run.stdout.strip() == str(errno.EFBIG), run.stderr
    assert names(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == old


@unix_only
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_what_a_process_leaves_goes_at_once_or_if_it_was_killed_with_the_next(tmp_path, sent):
    code = "import sys; from helpers.make import random_file; random_file(sys.argv[1], '1 GiB')"
    process = subprocess.Popen(
        [sys.executable, "-c", code, tmp_path / "a"], stderr=subprocess.PIPE, text=True
    )
    assert until(lambda: process.poll() is not None or any(tmp_path.rglob("new")), 60)
    process.send_signal(sent)
    process.communicate(timeout=60)
    assert process.returncode == -sent
    assert len(names(tmp_path)) == (sent == signal.SIGKILL)
    write_whole(tmp_path / "b", "")
    assert len(names(tmp_path)) == 1 + (sent == signal.SIGKILL), (
        "another file's leavings may be in use"
    )
    write_whole(tmp_path / "a", "")
    assert names(tmp_path) == ["a", "b"]


def test_a_file_being_written_is_not_taken_for_an_abandoned_one(tmp_path):
    with whole_file(tmp_path / "a", 6) as first:
        first.write(b"first")
        with whole_file(tmp_path / "a", 6) as second:
            second.write(b"second")
        assert (tmp_path / "a").read_bytes() == b"second"
    assert (tmp_path / "a").read_bytes() == b"first"
    assert names(tmp_path) == ["a"]


@unix_only
def test_a_file_taken_for_abandoned_before_its_lock_is_begun_again(tmp_path, monkeypatch):
    lock = safe_files.lock
    taken = []

    def late(folder):
        if not taken:
            taken.append(folder)
            folder.rename(tmp_path / "taken")
            return os.open(tmp_path / "taken", os.O_RDONLY)
        return lock(folder)

    monkeypatch.setattr(safe_files, "lock", late)
    write_whole(tmp_path / "a", "hello")
    assert taken
    assert (tmp_path / "a").read_text() == "hello"
    assert names(tmp_path) == ["a", "taken"]


@unix_only
def test_what_only_looks_abandoned_stays(tmp_path):
    """A pipe of such a name, and a person's folder of nearly such a name."""
    os.mkfifo(tmp_path / ".a-01234567.partial")
    (tmp_path / ".a-notes").mkdir()
    (tmp_path / ".a-76543210.partial").mkdir()
    write_whole(tmp_path / "a", "new")
    assert names(tmp_path) == [".a-01234567.partial", ".a-notes", "a"]


# --- folders that vanish --------------------------------------------------------------------------
SCRATCH = (
    "from helpers.make import scratch; import sys; p = scratch('copy.bin'); p.touch(); print(p,"
    " flush=True)"
)
ROOM = (
    "from helpers.folders import scratch_folder; import sys\n"
    "with scratch_folder('check') as folder:\n    (folder / 'big').touch()\n"
    "    print(folder / 'big', flush=True); sys.stdin.read()"
)


def other_process(code: str) -> Path:
    """The path that another process prints, which then ends."""
    run = subprocess.run(
        [sys.executable, "-c", code], input="", capture_output=True, text=True, check=True
    )
    return Path(run.stdout.strip())


def test_scratch_is_each_process_s_own_and_goes_with_it():
    first = scratch("copy.bin")
    other = other_process(SCRATCH)
    assert first.parent.parent == generated()
    assert first == scratch("copy.bin")
    assert other.name == "copy.bin"
    assert other.parent != first.parent
    assert first.parent.exists()
    assert not other.parent.exists()


@unix_only
@pytest.mark.parametrize("code", [SCRATCH, ROOM])
def test_the_folder_of_a_killed_process_goes_with_the_next_and_that_of_a_live_one_stays(code: str):
    command = [sys.executable, "-c", f"{code}; sys.stdin.read()"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        path = Path(process.stdout.readline().strip())
        other = other_process(code)
        assert path.exists()
        assert not other.parent.exists()
        process.kill()
    assert path.exists()
    other_process(code)
    assert not path.parent.exists()


@unix_only
def test_a_room_goes_whatever_was_made_in_it():
    with scratch_folder("check") as folder:
        (folder / "shut" / "inner").mkdir(parents=True)
        (folder / "link").symlink_to(generated())
        (folder / "shut").chmod(0)
        deep = "import os\nfor _ in range(1200): os.mkdir('deep'); os.chdir('deep')"
        subprocess.run([sys.executable, "-c", deep], cwd=folder, check=True)
    assert not folder.exists()
    assert generated().exists()


@unix_only
def test_scratch_works_where_a_file_system_has_no_locks():
    refuse = (
        "import fcntl\ndef refuse(*_): raise OSError(9, 'no locks here')\nfcntl.flock = refuse\n"
    )
    assert other_process(refuse + SCRATCH).name == "copy.bin"


# --- random files ---------------------------------------------------------------------------------
def test_bytes_never_change(tmp_path):
    """A golden digest: the same on any system, numpy and Python."""
    digest = hashlib.sha256(random_file(tmp_path / "a", MiB + 13).read_bytes()).hexdigest()
    assert digest == "fdeda9675638725e1d482b4ddf29bee16a42a97004e5c789d79e8c1f950642b3"
    assert (
        random_file(tmp_path / "b", 8, seed=1).read_bytes()
        != random_file(tmp_path / "c", 8).read_bytes()
    )


@pytest.mark.parametrize("make", [random_file, dna])
@pytest.mark.parametrize("size", [0, 7, MiB, MiB + 1])
def test_a_shorter_file_is_the_start_of_a_longer_one(tmp_path, make, size):
    longer = make(tmp_path / "longer", "2 MiB").read_bytes()
    assert make(tmp_path / "a", size).read_bytes() == longer[:size]


def test_a_bare_name_lies_in_the_generated_folder_and_a_path_is_taken_as_it_is(
    monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    for path in ("weights.bin", Path("weights.bin")):
        assert random_file(path, "1.5 KiB") == generated() / "weights.bin"
    assert random_file("./here.bin", 10) == Path("here.bin")
    assert names(tmp_path) == ["here.bin"]
    assert names(generated()) == ["weights.bin"]


@each_of(
    ("size", "seed", "error", "says"),
    (-1, 0, ValueError, "negative"),
    ("10 MB", 0, ValueError, "MiB"),
    (10, -1, ValueError, "-1"),
    (10, 2**32, ValueError, "4294967295"),
    (10, 0.5, TypeError, "float"),
)
def test_wrong_arguments(tmp_path, size, seed, error, says):
    with pytest.raises(error, match=says):
        random_file(tmp_path / "a", size, seed)
    assert names(tmp_path) == []


def test_a_right_file_is_left_and_a_damaged_one_is_made_again(tmp_path):
    size = 3 * MiB + 5
    path = random_file(tmp_path / "a", size)
    before = identity(path)
    good = path.read_bytes()
    assert identity(random_file(path, size)) == before
    for at in (MiB, 2 * MiB + 100, size - 1):
        path.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
        assert random_file(path, size).read_bytes() == good
    for length in (0, 100, 2 * MiB, 4 * MiB):
        os.truncate(path, length)
        assert random_file(path, size).read_bytes() == good


@pytest.mark.parametrize("size", [0, 20, 21, MiB])
def test_a_strangers_file_is_never_touched(tmp_path, size):
    (path := tmp_path / "thesis").write_text("four years of my life")
    before = identity(path)
    with pytest.raises(FileExistsError, match="choose another name") as caught:
        random_file(path, size)
    assert identity(path) == before
    assert path.read_text() == "four years of my life"
    assert caught.value.filename == str(path)
    assert names(tmp_path) == ["thesis"]


@unix_only
def test_a_link_from_the_generated_folder_does_not_give_a_strangers_file_away(tmp_path):
    (tmp_path / "thesis").write_text("four years")
    (generated() / "a").symlink_to(tmp_path / "thesis")
    with pytest.raises(FileExistsError):
        random_file("a", 100)
    assert (tmp_path / "thesis").read_text() == "four years"


@pytest.mark.measured
def test_a_bar_for_a_long_wait_only(tmp_path, monkeypatch, capfd):
    for _ in ("writing", "checking"):
        random_file(tmp_path / "short", "4 MiB")
    assert capfd.readouterr() == ("", "")
    made = pieces.SFC64
    monkeypatch.setattr(pieces, "SFC64", lambda seeds: (time.sleep(0.1), made(seeds))[1])
    monkeypatch.setattr(widgets, "PROGRESS_DELAY_S", 0.2)
    for doing in ("writing", "checking"):
        random_file(tmp_path / "weights.bin", "12 MiB")
        shown = [line for line in capfd.readouterr().err.split("\r") if line.strip()]
        assert len(shown) > 1 and all(f"{doing} weights.bin" in line for line in shown), shown
        assert any("/12.0M" in line and "iB/s" in line for line in shown), shown
