"""workers: what each process costs, what all of them cost together, and that none is left. And a
full disk.
"""

import contextlib
import gc
import mmap
import os
import signal
import sys
import threading
import time

import numpy as np
import psutil
import pytest
from tables import each_of

from helpers.measure import NotMeasuredHere, maps, workers
from helpers.measure.environment import on_small_disk
from helpers.measure.sharing import Sharing
from helpers.units import MiB

SIZE = 64 * MiB
PAGE = mmap.PAGESIZE
pytestmark = pytest.mark.skipif(bool(maps.why_not()), reason=maps.why_not() or "-")


def reads(path):
    with open(path, "rb") as f:
        return f.read()


def maps_and_sums(path):
    global kept  # the returned value is kept, and so is this
    with open(path, "rb") as f:
        kept = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
    return sum(kept[at] for at in range(0, SIZE, PAGE))


def fails(*args):
    raise KeyError("no such tensor")


def dies(*args):
    os.kill(os.getpid(), signal.SIGSEGV)
    time.sleep(10)


def hangs(*args):
    while True:
        time.sleep(1)


def ended(crew: Sharing) -> dict[str, str]:
    return {row.name: row.ended for row in crew.rows}


# --- fresh interpreters ---------------------------------------------------------------------------
@pytest.mark.measured
def test_each_of_four_that_map_has_its_row(file):
    """That they share one copy, and four that read have four, claims of lessons 04 and 09
    assert.
    """
    mapped = workers(maps_and_sums, file)
    assert ended(mapped) == {f"worker {number}": "returned" for number in range(1, 5)}
    assert all(row.anonymous < SIZE / 20 < SIZE / 2 < row.file for row in mapped.rows)
    assert [row.value for row in mapped.rows] == [sum(range(SIZE // MiB)) * (MiB // PAGE)] * 4
    assert workers(reads, file, count=1).rows[0].value is None, "too large to be sent back"
    assert len({row.pid for row in mapped.rows}) == 4
    assert not mapped.missing
    assert not mapped.why
    assert mapped.table()[1][-1][0] == "together"
    assert mapped._repr_html_().count("<tr>") == 6


@pytest.mark.slow
@pytest.mark.measured
def test_one_fails_one_dies_one_hangs_and_the_others_answer(tmp_path):
    def work(folder):
        for number, act in enumerate((fails, dies, hangs, os._exit)):
            with contextlib.suppress(FileExistsError):
                (folder / str(number)).touch(exist_ok=False)
                return act(7)
        return "done"

    rows = workers(work, tmp_path, count=5, timeout=3).rows
    assert sorted(row.ended for row in rows) == [
        "SIGSEGV",
        "exited 7",
        "raised KeyError: 'no such tensor'",
        "returned",
        "timed out",
    ]
    for row in rows:
        assert row.value == ("done" if row.ended == "returned" else None)
        assert (row.pss is None) == (row.ended in ("SIGSEGV", "exited 7"))


# --- forks of one ---------------------------------------------------------------------------------
def array():
    return np.full(SIZE // 8, 1.0)


def total(data):
    return float(data.sum())


@pytest.mark.measured
def test_forks_share_an_array():
    crew = workers(total, make=array)
    assert [row.name for row in crew.rows] == [
        "parent",
        "worker 1",
        "worker 2",
        "worker 3",
        "worker 4",
    ]
    assert [row.value for row in crew.rows] == [None] + [SIZE / 8] * 4
    assert all(row.private_dirty < SIZE / 10 and row.pss < SIZE / 3 for row in crew.rows[1:])


@pytest.mark.measured
def test_a_fork_collects_no_garbage_by_itself():
    def make():
        gc.disable()
        return [[i] for i in range(300_000)]

    def collect(data):
        gc.collect()

    left, collected = (
        workers(use, make=make, count=1).rows[1].private_dirty for use in (len, collect)
    )
    assert left < collected / 4


@pytest.mark.measured
def test_forks_end_as_they_end():
    assert set(ended(workers(fails, make=array, count=2)).values()) == {
        "returned",
        "raised KeyError: 'no such tensor'",
    }
    dead = workers(dies, make=array, count=2)
    assert ended(dead) == {"parent": "returned", "worker 1": "SIGSEGV", "worker 2": "SIGSEGV"}
    assert dead.rows[0].uss > SIZE / 2 and dead.rows[1].uss is None  # the parent is alone again
    late = workers(hangs, make=lambda: b"x" * SIZE, count=2, timeout=1)
    assert ended(late) == {"parent": "returned", "worker 1": "timed out", "worker 2": "timed out"}
    assert late.rows[1].rss > SIZE / 2


def test_a_fork_never_comes_back_into_the_code_of_its_parent():
    def closes(data):
        sys.stdout.close()

    def closes_its_pipe(data):
        os.closerange(3, 64)

    def forks(data):
        if os.fork():
            os.wait()
        else:
            sys.stdout.close()

    for use in (closes, closes_its_pipe, forks):
        assert [row.ended for row in workers(use, make=lambda: 1, count=2).rows] == ["returned"] * 3


@pytest.mark.parametrize(
    ("make", "how"),
    [(fails, "raised KeyError: 'no such tensor'"), (dies, "SIGSEGV"), (hangs, "timed out")],
)
def test_without_data_there_are_no_workers(make, how):
    assert ended(workers(total, make=make, timeout=0.5 if make is hangs else 60)) == {"parent": how}


# --- nothing is left ------------------------------------------------------------------------------
@pytest.mark.slow
def test_no_process_descriptor_or_thread_is_left(descendants):
    workers(len, "ab", count=1)

    def now():
        return psutil.Process().num_fds(), threading.active_count(), descendants()

    before = now()
    for use in (fails, dies, hangs):
        workers(use, count=2, timeout=0.5 if use is hangs else 60)
        workers(use, make=lambda: b"x", count=2, timeout=0.5 if use is hangs else 60)
        workers(total, make=use, count=2, timeout=0.5 if use is hangs else 60)
    assert now() == before


@pytest.mark.measured
@pytest.mark.parametrize("make", [None, array])
def test_interrupting_the_caller_ends_all(make, descendants):
    before = descendants()
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        workers(hangs, make=make)
    assert descendants() <= before


# --- what people do with it -----------------------------------------------------------------------
def test_what_they_print_is_shown(capsys):
    workers(print, "hello", count=2)
    workers(print, make=lambda: "forked", count=2)
    shown = capsys.readouterr().out
    assert shown.count("hello") == shown.count("forked") == 2


@each_of(
    ("use", "options", "kind", "message"),
    (1, {}, TypeError, r"use is 1; leave out its \(\)"),
    (abs, {"make": 1}, TypeError, r"make is 1; leave out its \(\)"),
    (abs, {"count": 0}, ValueError, "count=0"),
    (abs, {"timeout": float("nan")}, ValueError, "more than 0, not nan"),
    (threading.Lock().acquire, {"make": array}, TypeError, "^acquire cannot be carried"),
)
def test_wrong_arguments_are_named(use, options, kind, message):
    with pytest.raises(kind, match=message):
        workers(use, **options)


def test_where_memory_of_others_cannot_be_read_nothing_is_run(tmp_path, monkeypatch):
    monkeypatch.setattr(maps, "why_not", lambda: "no /proc")
    crew = workers((tmp_path / "ran").touch)
    assert crew.missing == ("sharing",)
    assert crew.why == "no /proc"
    assert not (tmp_path / "ran").exists()


# --- a disk that is full --------------------------------------------------------------------------
@pytest.mark.needs(tool="namespaces")
def test_a_small_disk_fills_and_is_gone_afterwards():
    def reserves(folder):
        with open(folder / "file", "w+b") as out:
            os.posix_fallocate(out.fileno(), 0, 2 * MiB)
        return str(folder)

    refused = on_small_disk(reserves)
    assert "No space left on device" in refused.error
    assert refused.machine.file_system == "tmpfs of 1 MiB"
    fits = on_small_disk(reserves, size="4 MiB")
    assert fits.ended == "returned"
    assert not os.path.exists(fits.value)


def test_a_disk_without_namespaces_is_not_measured_here(monkeypatch, tmp_path):
    (tmp_path / "unshare").write_text(
        "#!/bin/sh\necho 'unshare: Operation not permitted' >&2; exit 1\n"
    )
    (tmp_path / "unshare").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(
        NotMeasuredHere, match="no small disk can be made here: unshare: Operation not permitted"
    ):
        on_small_disk(len)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NotMeasuredHere, match="unshare"):
        on_small_disk(len)
    for length, words in ((0, "has no limit"), (2**70, "more than this machine's memory")):
        with pytest.raises(ValueError, match=words):
            on_small_disk(len, size=length)
