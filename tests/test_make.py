"""helpers.make: the bytes, the promise of a whole file on disk, and which files may be replaced."""

import errno
import hashlib
import multiprocessing
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.random import SFC64, Generator, SeedSequence

from helpers import lasting, whole
from helpers.folders import generated
from helpers.make import files, random_file, scratch, whole_file
from helpers.measure import measure
from helpers.scratch import room
from helpers.units import KiB, MiB

unix_only = pytest.mark.skipif(os.name == "nt", reason="signals and file locks as Unix has them")


@pytest.fixture(autouse=True)
def own_folder(tmp_path_factory, monkeypatch):
    """No test writes into the repository."""
    monkeypatch.setenv("ZERO_COPY_DATA", str(tmp_path_factory.mktemp("generated")))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def spoil(path: Path, at: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1]))


def identity(path: Path) -> tuple[int, int]:
    return path.stat().st_ino, path.stat().st_mtime_ns


# The bytes


def test_bytes_are_the_recipe_written_out(tmp_path):
    size = 2 * MiB + 13
    full = [
        Generator(SFC64(SeedSequence([7, i]))).integers(0, 2**64 - 1, MiB // 8, np.uint64, endpoint=True)
        for i in range(3)
    ]
    expected = b"".join(words.astype("<u8").tobytes() for words in full)[:size]
    assert random_file(tmp_path / "a", size, seed=7).read_bytes() == expected


def test_bytes_never_change(tmp_path):
    """A golden digest: the same on any system, numpy and Python."""
    digest = hashlib.sha256(random_file(tmp_path / "a", MiB + 13).read_bytes()).hexdigest()
    assert digest == "fdeda9675638725e1d482b4ddf29bee16a42a97004e5c789d79e8c1f950642b3"


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_bytes_do_not_depend_on_threads(tmp_path, monkeypatch, threads):
    expected = random_file(tmp_path / "expected", "5 MiB").read_bytes()
    monkeypatch.setattr(files, "THREADS", threads)
    assert random_file(tmp_path / "a", "5 MiB").read_bytes() == expected


@pytest.mark.parametrize("size", [0, 1, 7, 8, MiB - 1, MiB, MiB + 1, 3 * MiB])
def test_a_shorter_file_is_the_start_of_a_longer_one(tmp_path, size):
    longer = random_file(tmp_path / "longer", "4 MiB").read_bytes()
    assert random_file(tmp_path / "a", size).read_bytes() == longer[:size]


def test_seeds_and_chunks_differ(tmp_path):
    zero, one = (random_file(tmp_path / f"{seed}", "2 MiB", seed).read_bytes() for seed in (0, 1))
    assert len({zero[:MiB], zero[MiB:], one[:MiB], one[MiB:]}) == 4


# Where it goes


def test_a_bare_name_lies_in_the_generated_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert random_file("weights.bin", 10) == generated() / "weights.bin"
    assert random_file(Path("weights.bin"), 10) == generated() / "weights.bin"
    assert names(generated()) == ["weights.bin"] and names(tmp_path) == []


def test_a_path_with_a_folder_is_taken_as_it_is(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    assert random_file("./here.bin", 10) == Path("here.bin")
    assert random_file("sub/there.bin", 10) == Path("sub/there.bin")
    assert names(tmp_path) == ["here.bin", "sub"] and names(generated()) == []


def test_sizes_in_words(tmp_path):
    assert random_file(tmp_path / "a", "1.5 KiB").stat().st_size == 1536


@pytest.mark.parametrize(
    ("size", "seed", "error", "says"),
    [
        (-1, 0, ValueError, "negative"),
        ("10 MB", 0, ValueError, "MiB"),
        (10, -1, ValueError, "-1"),
        (10, 2**32, ValueError, "4294967295"),
        (10, 0.5, TypeError, "float"),
    ],
)
def test_wrong_arguments(tmp_path, size, seed, error, says):
    with pytest.raises(error, match=says):
        random_file(tmp_path / "a", size, seed)
    assert names(tmp_path) == []


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such folder") as caught:
        random_file(tmp_path / "nowhere" / "a", 10)
    assert caught.value.filename == str(tmp_path / "nowhere") and names(tmp_path) == []


def test_a_path_that_is_a_folder(tmp_path):
    with pytest.raises(IsADirectoryError, match="name a file in it"):
        random_file(tmp_path, 10)


@unix_only
def test_a_pipe_is_neither_opened_nor_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileExistsError, match="pipe"):
        random_file(tmp_path / "pipe", 10)
    assert (tmp_path / "pipe").is_fifo()


@unix_only
def test_a_link_is_followed(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert random_file(tmp_path / "link", 10) == tmp_path / "link"
    assert (tmp_path / "link").is_symlink() and (tmp_path / "a").stat().st_size == 10


# A file that is there already


def test_the_same_file_is_reused(tmp_path):
    before = identity(random_file(tmp_path / "a", 3 * MiB + 5))
    assert identity(random_file(tmp_path / "a", 3 * MiB + 5)) == before


@pytest.mark.parametrize("at", [MiB, 2 * MiB + 100, 3 * MiB + 4])
def test_a_damaged_file_is_made_again(tmp_path, at):
    path = random_file(tmp_path / "a", 3 * MiB + 5)
    good = path.read_bytes()
    spoil(path, at)
    assert random_file(path, 3 * MiB + 5).read_bytes() == good


@pytest.mark.parametrize("size", [0, 100, 2 * MiB, 4 * MiB])
def test_a_shorter_or_longer_file_is_made_again(tmp_path, size):
    path = random_file(tmp_path / "a", 3 * MiB)
    good = path.read_bytes()
    with path.open("r+b") as file:
        file.truncate(size)
    assert random_file(path, 3 * MiB).read_bytes() == good


@pytest.mark.parametrize("size", [0, 20, 21, MiB])
def test_a_strangers_file_is_never_touched(tmp_path, size):
    path = tmp_path / "thesis"
    path.write_text("four years of my life")
    before = identity(path)
    with pytest.raises(FileExistsError, match="choose another name") as caught:
        random_file(path, size)
    assert identity(path) == before and path.read_text() == "four years of my life"
    assert caught.value.filename == str(path) and names(tmp_path) == ["thesis"]


def test_another_seeds_file_stays_outside_the_generated_folder(tmp_path):
    good = random_file(tmp_path / "a", 100, seed=1).read_bytes()
    with pytest.raises(FileExistsError, match="seed=2"):
        random_file(tmp_path / "a", 100, seed=2)
    assert (tmp_path / "a").read_bytes() == good


def test_anything_is_replaced_in_the_generated_folder(tmp_path):
    expected = random_file(tmp_path / "a", 100, seed=2).read_bytes()
    random_file("a", 100, seed=1)
    assert random_file("a", 100, seed=2).read_bytes() == expected
    spoil(generated() / "a", 0)
    assert random_file("a", 100, seed=2).read_bytes() == expected


@unix_only
def test_a_link_from_the_generated_folder_does_not_give_a_strangers_file_away(tmp_path):
    (tmp_path / "thesis").write_text("four years")
    (generated() / "a").symlink_to(tmp_path / "thesis")
    with pytest.raises(FileExistsError):
        random_file("a", 100)
    assert (tmp_path / "thesis").read_text() == "four years"


# Whole or not at all


def test_synced_before_the_rename_and_the_folder_after(tmp_path, monkeypatch):
    events, fsync, replace = [], os.fsync, os.replace

    def spied_fsync(fd):
        what = os.fstat(fd)
        events.append("folder" if stat.S_ISDIR(what.st_mode) else f"file of {what.st_size}")
        fsync(fd)

    def spied_replace(old, new):
        assert Path(old).parent == Path(new).parent
        events.append("rename")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", spied_fsync)
    monkeypatch.setattr(os, "replace", spied_replace)
    with whole_file(tmp_path / "a", 5) as file:
        file.write(b"hello")
        assert not (tmp_path / "a").exists()
    assert events == ["file of 5", "rename", *["folder"] * (os.name != "nt")]

    events.clear()
    random_file(tmp_path / "b", 2 * MiB)
    each_thread_and_the_whole = [f"file of {2 * MiB}"] * (files.THREADS + 1)
    assert events[: events.index("rename")] == each_thread_and_the_whole


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path):
    (tmp_path / "a").write_text("old")
    with pytest.raises(ZeroDivisionError), whole_file(tmp_path / "a", 5) as file:
        file.write(b"new")
        file.flush()
        raise ZeroDivisionError
    assert names(tmp_path) == ["a"] and (tmp_path / "a").read_text() == "old"


@unix_only
def test_a_new_file_has_the_permissions_that_any_new_file_gets(tmp_path):
    (tmp_path / "usual").touch()
    assert random_file(tmp_path / "a", 10).stat().st_mode == (tmp_path / "usual").stat().st_mode


@unix_only
def test_a_write_that_fails_in_a_thread_is_raised_and_leaves_nothing(tmp_path):
    """The system refuses to let a file grow past 3 MiB (setrlimit(2)), as a full disk would."""
    code = (
        "import resource, sys; from helpers.make import random_file\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({3 * MiB}, {3 * MiB}))\n"
        "try: random_file(sys.argv[1], '64 MiB')\n"
        "except OSError as error: print(error.errno)\n"
    )
    run = subprocess.run([sys.executable, "-c", code, tmp_path / "a"], capture_output=True, text=True, timeout=60)
    assert run.stdout.strip() == str(errno.EFBIG), run.stderr
    assert names(tmp_path) == []


@pytest.mark.measured
@pytest.mark.parametrize("task", ["write", "verify"])
def test_the_first_trouble_ends_the_work(tmp_path, monkeypatch, task):
    if task == "verify":
        spoil(random_file(tmp_path / "a", "64 MiB"), MiB)
    made, chunk = [], files._chunk

    def spied(seed, i, size):
        made.append(i)
        time.sleep(0.01)  # so the caller gets its turn, however busy the machine is
        if i == 1 and task == "write":
            raise ZeroDivisionError
        return chunk(seed, i, size)

    def refused(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(files, "_chunk", spied)
    monkeypatch.setattr(files, "whole_file", whole_file if task == "write" else refused)
    with pytest.raises(ZeroDivisionError):
        random_file(tmp_path / "a", "64 MiB")
    assert len(made) < 32


def test_too_little_room(tmp_path):
    free = shutil.disk_usage(tmp_path).free
    with pytest.raises(OSError) as caught:
        random_file(tmp_path / "a", 3 * free)
    assert caught.value.errno == errno.ENOSPC and caught.value.filename == str(tmp_path)
    assert f"{3 * free:,}" in str(caught.value) and "are free" in str(caught.value)
    assert names(tmp_path) == []


def test_the_space_of_the_file_to_be_replaced_does_not_count(tmp_path, monkeypatch):
    random_file(tmp_path / "a", 4 * MiB)
    before = identity(tmp_path / "a")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9 * MiB, 7 * MiB, 2 * MiB))
    with pytest.raises(OSError, match="only when the new one is complete"):
        random_file(tmp_path / "a", 3 * MiB)
    assert identity(tmp_path / "a") == before
    assert random_file(tmp_path / "a", 2 * MiB).stat().st_size == 2 * MiB


def start_and_catch(folder: Path) -> subprocess.Popen:
    """Starts a process that writes 1 GiB into an empty folder, and returns while it's writing."""
    code = "import sys; from helpers.make import random_file; random_file(sys.argv[1], '1 GiB')"
    process = subprocess.Popen([sys.executable, "-c", code, folder / "a"], stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while not any(folder.iterdir()):
        assert process.poll() is None and time.monotonic() < end, process.communicate()
        time.sleep(0.001)
    assert process.poll() is None
    return process


@unix_only
def test_interrupting_leaves_nothing(tmp_path):
    process = start_and_catch(tmp_path)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT and "KeyboardInterrupt" in said
    assert names(tmp_path) == []


@unix_only
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_what_a_killed_process_leaves_goes_with_the_next_run(tmp_path, sent):
    process = start_and_catch(tmp_path)
    process.send_signal(sent)
    process.communicate(timeout=60)
    (left,) = names(tmp_path)
    assert left.endswith(".unfinished")
    random_file(tmp_path / "b", 10)
    assert names(tmp_path) == [left, "b"], "only the same file's leavings are known to be nobody's"
    random_file(tmp_path / "a", 10)
    assert names(tmp_path) == ["a", "b"]


def test_leavings_go_also_where_the_file_itself_is_right(tmp_path):
    random_file(tmp_path / "a", 10)
    (tmp_path / ".a.01234567.unfinished").touch()
    random_file(tmp_path / "a", 10)
    assert names(tmp_path) == ["a"]


def test_a_file_being_written_is_not_taken_for_an_abandoned_one(tmp_path):
    with whole_file(tmp_path / "a", 6) as first:
        first.write(b"first")
        with whole_file(tmp_path / "a", 6) as second:
            second.write(b"second")
        assert (tmp_path / "a").read_bytes() == b"second"
    assert (tmp_path / "a").read_bytes() == b"first" and names(tmp_path) == ["a"]


@unix_only
def test_a_file_taken_for_abandoned_before_its_lock_is_begun_again(tmp_path, monkeypatch):
    flock, taken = whole.fcntl.flock, []

    def late(file, how):
        if not taken:
            taken.append(file.name)
            os.unlink(file.name)
        flock(file, how)

    monkeypatch.setattr(whole.fcntl, "flock", late)
    with whole_file(tmp_path / "a", 5) as file:
        file.write(b"hello")
    assert taken and (tmp_path / "a").read_bytes() == b"hello"


def make_together(path: Path, barrier) -> None:
    for _ in range(5):
        barrier.wait(60)
        path.unlink(missing_ok=True)
        barrier.wait(60)
        random_file(path, 8 * MiB + 3)
        assert random_file(path.with_name("apart"), 8 * MiB + 3).read_bytes() == path.read_bytes()


def test_two_processes_make_the_same_file(tmp_path):
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2)
    both = [context.Process(target=make_together, args=(tmp_path / "a", barrier)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(120)
    assert [process.exitcode for process in both] == [0, 0]
    assert names(tmp_path) == ["a", "apart"]


# While it works


def test_memory_does_not_grow_with_the_file(tmp_path):
    """In a process of its own, because tracemalloc counts every thread, no matter what started it."""

    def peaks(folder):
        import tracemalloc

        from helpers.make import random_file

        random_file(folder / "warm-up", 2**20)
        found = []
        for _ in ("write", "verify"):
            tracemalloc.start()
            random_file(folder / "a", 64 * 2**20)
            found.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        return found

    written, verified = measure(peaks, tmp_path).value
    assert MiB <= written < 8 * MiB and MiB <= verified < 8 * MiB


@pytest.mark.measured
def test_no_bar_for_a_short_wait(tmp_path, capfd):
    assert lasting.PATIENCE == 2
    random_file(tmp_path / "a", "4 MiB")
    random_file(tmp_path / "a", "4 MiB")
    assert capfd.readouterr() == ("", "")


@pytest.mark.measured
@pytest.mark.parametrize("title", ["writing weights.bin", "checking weights.bin"])
def test_a_bar_for_a_long_wait(tmp_path, monkeypatch, capfd, title):
    if title.startswith("checking"):
        random_file(tmp_path / "weights.bin", "12 MiB")
    chunk = files._chunk
    monkeypatch.setattr(files, "_chunk", lambda *args: (time.sleep(0.1), chunk(*args))[1])
    monkeypatch.setattr(lasting, "PATIENCE", 0.2)
    random_file(tmp_path / "weights.bin", "12 MiB")
    shown = [line for line in capfd.readouterr().err.split("\r") if line.strip()]
    assert len(shown) > 1 and all(title in line for line in shown), shown
    assert any("/12.0M" in line and "iB/s" in line for line in shown), shown


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps who may read a file elsewhere")
def test_who_may_read_the_old_file_may_read_the_new_one(tmp_path):
    for mode in (0o600, 0o640, 0o444):
        (tmp_path / "a").write_bytes(b"old")
        (tmp_path / "a").chmod(mode)
        with whole_file(tmp_path / "a", 3) as file:
            file.write(b"new")
        assert (tmp_path / "a").read_bytes() == b"new" and stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode
        (tmp_path / "a").unlink()


def test_small_pieces_are_written_whole(tmp_path):
    """write(2) may take less than it's given."""

    class Sluggish:
        taken = b""

        def write(self, data):
            self.taken += bytes(data[:100])
            return len(data[:100])

    file = Sluggish()
    files._write(file, np.arange(KiB).astype(np.uint8))
    assert file.taken == np.arange(KiB).astype(np.uint8).tobytes()


# --- scratch ----------------------------------------------------------------------------------------------
SCRATCH = (
    "from helpers.make import scratch; import sys; p = scratch('copy.bin'); p.write_text('x'); print(p, flush=True)"
)


def test_scratch_is_each_process_s_own_and_goes_with_it():
    first = scratch("copy.bin")
    assert first.parent.parent == generated() and first == scratch("copy.bin")
    other = Path(
        subprocess.run([sys.executable, "-c", SCRATCH], capture_output=True, text=True, check=True).stdout.strip()
    )
    assert other.name == "copy.bin" and other.parent != first.parent
    assert first.parent.exists() and not other.parent.exists()


@pytest.mark.skipif(os.name != "posix", reason="locks and SIGKILL")
def test_scratch_of_a_killed_process_goes_with_the_next_and_that_of_a_live_one_stays():
    wait = f"{SCRATCH}; sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", wait], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as held:
        path = Path(held.stdout.readline().strip())
        subprocess.run([sys.executable, "-c", SCRATCH], check=True, capture_output=True)
        assert path.exists()
        held.kill()
    assert path.exists()
    subprocess.run([sys.executable, "-c", SCRATCH], check=True, capture_output=True)
    assert not path.parent.exists()


@pytest.mark.skipif(os.name != "posix", reason="locks and SIGKILL")
def test_a_room_that_a_killed_process_left_goes_with_the_next_and_that_of_a_live_one_stays():
    code = (
        "from helpers.scratch import room; import sys\n"
        "with room('check') as folder:\n    (folder / 'big').touch(); print(folder, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as held:
        path = Path(held.stdout.readline().strip())
        with room("check") as another:
            assert path.exists() and another != path
        assert not another.exists()
        held.kill()
    assert path.exists()
    with room("check"), room("other"):
        assert not path.exists()


@pytest.mark.skipif(os.name != "posix", reason="modes and long paths")
def test_a_room_goes_whatever_was_made_in_it():
    with room("check") as folder:
        (folder / "shut" / "inner").mkdir(parents=True)
        (folder / "link").symlink_to(generated())
        (folder / "shut").chmod(0)
        deep = "import os\nfor _ in range(1200): os.mkdir('deep'); os.chdir('deep')"
        subprocess.run([sys.executable, "-c", deep], cwd=folder, check=True)
    assert not folder.exists() and generated().exists()


@pytest.mark.skipif(os.name != "posix", reason="locks")
def test_scratch_works_where_a_file_system_has_no_locks():
    code = (
        "import fcntl, sys\n"
        "def refuse(*_): raise OSError(9, 'no locks here')\n"
        f"fcntl.flock = refuse\n{SCRATCH}; print(len(list(p.parent.parent.glob('scratch-*'))))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    assert out.splitlines()[-1] == "1"
