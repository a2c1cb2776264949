"""measure: what it reports is what happened, and it ends whatever happens."""

import builtins
import contextlib
import ctypes
import json
import marshal
import mmap
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from inspect import getsource
from pathlib import Path
from typing import BinaryIO

import numpy as np
import psutil
import pytest
from serving import until
from tables import each_of

from helpers.measure import (
    Comparison,
    Recording,
    abilities,
    compare,
    measure,
    page_cache,
    process,
    sampler,
    together,
)
from helpers.measure.wire import packed, unpacked
from helpers.units import MiB

SIZE = 64 * MiB
PAGE = mmap.PAGESIZE
linux = pytest.mark.skipif(
    sys.platform != "linux", reason="kinds of memory are read from /proc, Linux only"
)


def touch(memory, size: int) -> None:
    for at in range(0, size, PAGE):
        memory[at]


@pytest.fixture(autouse=True)
def samples(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A file that grows by a byte with each sample. Its name is in the environment, for `hold`."""
    with tempfile.NamedTemporaryFile(buffering=0) as taken:
        monkeypatch.setenv("SAMPLES", taken.name)
        for kind in (sampler.ProcStatus, sampler.Portable):
            monkeypatch.setattr(kind, "read", counting(kind.read, taken))
        yield


def counting(read: Callable, taken: BinaryIO) -> Callable:
    def counted(*args, **options):
        sample = read(*args, **options)
        taken.write(b".")
        return sample

    return counted


def hold(samples=2):
    """Waits for this many samples, at least two: the first may have begun before the call."""
    path = os.environ["SAMPLES"]
    enough = os.path.getsize(path) + samples
    while os.path.getsize(path) < enough:
        time.sleep(0.01)


# --- ground truth ---------------------------------------------------------------------------------
def anonymous(path, flags=mmap.MAP_PRIVATE):
    with mmap.mmap(-1, SIZE, flags | mmap.MAP_ANONYMOUS) as memory:
        for at in range(0, SIZE, PAGE):
            memory[at] = 1
        hold()


def mapping_touched(path):
    with open(path, "rb") as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as memory:
        touch(memory, SIZE)
        hold()


def shared_memory(path):
    anonymous(path, mmap.MAP_SHARED)


@pytest.mark.measured
@linux
@pytest.mark.parametrize(
    ("function", "expected"),
    [(anonymous, (SIZE, 0, 0)), (mapping_touched, (0, SIZE, 0)), (shared_memory, (0, 0, SIZE))],
)
def test_each_kind_of_memory_is_told_apart(function, expected, file):
    peak = measure(function, file).peak
    assert (peak.anonymous, peak.file, peak.shared) == pytest.approx(expected, abs=0.02 * SIZE)
    assert peak.resident == pytest.approx(sum(expected), abs=0.02 * SIZE)


@pytest.mark.measured
def test_a_short_spike_is_seen():
    def spike():
        time.sleep(0.02)
        block = np.full(256 * MiB // 8, 1.0)
        time.sleep(0.001)
        del block
        time.sleep(0.02)

    run = measure(spike)
    seen = run.peak.anonymous if run.peak.anonymous is not None else run.peak.resident
    assert seen == pytest.approx(256 * MiB, rel=0.02)
    assert run.resident[-1] < 16 * MiB


@pytest.mark.measured
@linux
def test_the_high_water_mark_sees_what_is_gone_between_two_samples():
    def flash():
        np.full(64 * MiB // 8, 1.0)

    assert measure(flash, interval=5).peak.resident == pytest.approx(64 * MiB, rel=0.02)


@pytest.mark.slow
@pytest.mark.measured
@linux
def test_a_run_whose_peak_was_missed_is_done_again():
    def flash():
        time.sleep(0.1)  # for the first sample
        np.full(64 * MiB // 8, 1.0)

    def kept():
        return np.full(12 * MiB // 8, 1.0)

    def tries(call, *functions):
        made = []
        runs = call(
            {function.__name__: function for function in functions},
            before=lambda: made.append(1),
            interval=5,
        )
        return len(made), [run.missed > 0 for run in runs.values()]

    assert tries(compare, flash) == tries(together, flash) == (3, [True])
    assert tries(compare, kept) == (1, [False])
    assert tries(together, kept, flash) == (3, [False, True])


@pytest.mark.measured
def test_growth_does_not_count_what_was_there_before():
    carried = np.ones(32 * MiB // 8)
    assert measure(lambda: carried[0]).peak.resident < 2 * MiB


# --- counters -------------------------------------------------------------------------------------
@linux
def test_calls_and_bytes_are_counted_exactly(file):
    def chunks():
        with open(file, "rb", buffering=0) as source:
            buffer = bytearray(MiB)
            while source.readinto(buffer):
                pass

    io = measure(chunks).io
    # one more, to see the end of the file
    assert (io.read_calls, io.read_bytes) == (SIZE // MiB + 1, SIZE)
    assert (io.write_calls, io.write_bytes) == (0, 0)
    assert measure(lambda: None).io.read_calls == 0


@pytest.mark.measured
@linux
def test_faults_and_waits_are_the_functions_own():
    def waits():
        for _ in range(20):
            time.sleep(0.001)

    idle = measure(lambda: None)
    busy = measure(anonymous, None)
    waiting = measure(waits)
    assert busy.faults.minor > idle.faults.minor + SIZE / PAGE / 600  # even if all pages are huge
    assert waiting.switches.voluntary >= 20 > idle.switches.voluntary


@pytest.mark.measured
def test_times_agree():
    def work():
        end = time.process_time() + 0.2
        while time.process_time() < end:
            pass

    busy = measure(work)
    asleep = measure(time.sleep, 0.2)
    assert busy.user + busy.system == pytest.approx(0.2, rel=0.2)
    assert asleep.wall >= 0.2 > 10 * (asleep.user + asleep.system)
    for run in (busy, asleep):
        assert len(run.times) == len(run.resident) > 0.2 / 0.001 / 4


def test_the_heap_peak_comes_from_a_run_of_its_own(tmp_path):
    def work(log):
        with open(log, "a") as out:
            out.write("run\n")
        bytearray(8 * MiB)
        return bytearray(4 * MiB)

    once = measure(work, tmp_path / "once")
    twice = measure(work, tmp_path / "twice", heap=True)
    assert once.heap_peak is None
    assert (tmp_path / "once").read_text() == "run\n"
    assert 8 * MiB <= twice.heap_peak < 9 * MiB
    assert (tmp_path / "twice").read_text() == "run\nrun\n"
    assert 4 * MiB <= twice.heap_left < 5 * MiB
    assert "a run of its own" in twice._repr_html_()


# --- how a run ends -------------------------------------------------------------------------------
def raising():
    raise KeyError("no such tensor")


def killed_by(number):
    os.kill(os.getpid(), number)
    time.sleep(10)


def forever():
    while True:
        pass


def memory_bomb():
    kept = []
    while True:
        kept.append(b"x" * MiB)


def test_an_exception_is_a_result():
    run = measure(raising)
    assert run.ended == "raised"
    assert "KeyError: 'no such tensor'" in run.error
    assert "in raising" in run.error
    assert "child.py" not in run.error
    assert "raised KeyError" in repr(run)


@linux
@each_of(
    ("function", "number", "ended"),
    (sys.exit, 3, "raised"),
    (os._exit, 3, "exited 3"),
    (killed_by, signal.SIGSEGV, "SIGSEGV"),
    (killed_by, 40, "signal 40"),
)
def test_an_exit_and_a_signal_are_results(function, number, ended):
    run = measure(function, number)
    assert run.ended == ended
    assert run.value is None
    assert ended == "raised" or (run.faults.minor is None and "minor faults" in run.missing)


@linux
def test_a_process_that_ends_while_it_is_looked_at_is_a_result(monkeypatch):
    def look(pid):
        os.kill(pid, signal.SIGKILL)
        while os.readlink(f"/proc/{pid}/fd/0"):  # raises once it has ended
            pass

    run = measure(int, inspect=look)
    assert run.ended == "SIGKILL"
    assert run.value is None
    monkeypatch.setattr(process, "GRACE_S", 0.1)
    with pytest.raises(FileNotFoundError, match="absent"):
        measure(int, inspect=lambda pid: os.stat("absent"))


CELL = """class Reader:
    def read(self):
        return open("absent")


def made():
    return lambda: next(Reader().read() for _ in "1")


def called():
    return made()()
"""


def test_code_keeps_the_name_of_its_file():
    cell = {"__name__": "a notebook"}
    exec(compile(CELL, "<In [7]>", "exec"), cell)
    seen = re.findall(r'File "<In \[7\]>", line (\d+), in (.+)', measure(cell["called"]).error)
    assert seen == [("11", "called"), ("7", "<lambda>"), ("7", "<genexpr>"), ("3", "read")]
    assert measure(cell["made"], objects=True).value.__code__.co_filename == "<In [7]>"


def test_a_crash_leaves_no_core_file():
    resource = pytest.importorskip("resource")
    usual = resource.getrlimit(resource.RLIMIT_CORE)
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (usual[1], usual[1]))
        assert measure(lambda: resource.getrlimit(resource.RLIMIT_CORE)[0]).value == 0
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, usual)


@pytest.mark.measured
def test_a_memory_limit_ends_a_memory_bomb_and_lets_a_mapping_live(file):
    run = measure(memory_bomb, memory_limit="64 MiB")
    assert run.ended == "memory limit"
    assert 64 * MiB < run.resident.max() < 256 * MiB
    if sampler.choose() is sampler.ProcStatus:
        assert measure(mapping_touched, file, memory_limit="8 MiB").ended == "returned"
        assert measure(shared_memory, file, memory_limit="8 MiB").ended == "memory limit"


class Unreadable:
    def __reduce__(self):
        return int, ("x",)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda: mmap.mmap(-1, PAGE), "cannot leave its process"),
        (Unreadable, "cannot be rebuilt here"),
    ],
)
def test_a_result_that_does_not_come_back_costs_no_measurement(function, reason):
    run = measure(function, objects=True)
    assert run.ended == "returned"
    assert run.value is None
    assert reason in run.error
    assert run.wall is not None


@pytest.mark.measured
@linux
def test_limits_hold_while_somebody_looks():
    def goes_on():
        threading.Thread(target=memory_bomb).start()

    def waits(pid):
        time.sleep(20)

    began = time.monotonic()
    assert measure(goes_on, memory_limit="64 MiB", inspect=waits).ended == "memory limit"
    assert measure(int, timeout=1, inspect=waits).ended == "timed out"
    assert time.monotonic() - began < 10


@pytest.mark.measured
def test_sending_a_result_back_is_not_measured():
    run = measure(os.urandom, 12 * MiB, memory_limit="20 MiB")
    assert run.ended == "returned"
    assert len(run.value) == 12 * MiB
    assert run.resident.max() < 16 * MiB
    refused = measure(lambda: [bytes([n]) * 12 * MiB for n in range(2)])
    assert "larger than 16 MiB" in refused.error
    assert refused.resident.max() < 27 * MiB


@pytest.mark.measured
def test_what_is_returned_is_still_there_in_the_last_sample():
    run = measure(lambda: np.full(16 * MiB // 8, 1.0))
    assert run.resident[-1] == pytest.approx(16 * MiB, abs=MiB)
    assert run.times[-1] == pytest.approx(run.wall, abs=1e-5)


def test_a_traced_run_that_fails_gives_no_heap_peak(tmp_path, capsys):
    def only_once(path):
        print("once")
        with open(path, "x"):
            return len(bytearray(MiB))

    run = measure(only_once, tmp_path / "made", heap=True)
    assert run.ended == "returned"
    assert run.heap_peak is None
    assert capsys.readouterr().out == "once\n"


@pytest.mark.measured
def test_a_time_limit_holds_between_two_samples():
    began = time.monotonic()
    assert measure(forever, interval=30, timeout=0.3).ended == "timed out"
    assert time.monotonic() - began < 10


def test_a_function_that_asks_is_answered_by_an_empty_input():
    assert "EOFError" in measure(input).error
    assert measure(lambda: sys.stdin.close()).ended == "returned"


# --- nothing is left running ----------------------------------------------------------------------
@pytest.mark.measured
@pytest.mark.skipif(os.name != "posix", reason="SIGINT to oneself")
def test_interrupting_the_caller_ends_the_child(descendants):
    before = descendants()
    threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        measure(forever)
    assert descendants() <= before


def test_no_descriptor_thread_or_process_is_left(descendants):
    measure(abs, 1)
    here = psutil.Process()
    before = (here.num_fds() if os.name == "posix" else 0, threading.active_count(), descendants())
    for function in (abs, raising, os._exit):
        measure(function, *([1] if function is not raising else []))
    measure(forever, timeout=0.1)
    assert (
        here.num_fds() if os.name == "posix" else 0,
        threading.active_count(),
        descendants(),
    ) == before


@pytest.mark.measured
@linux
def test_the_process_that_was_called_answers_and_not_its_fork():
    def forked():
        if os.fork() == 0:
            return "fork"
        os.wait()
        return "original"

    began = time.monotonic()
    assert measure(forked).value == "original"
    assert time.monotonic() - began < 4


# --- errors people will make ----------------------------------------------------------------------
def test_something_that_cannot_travel():
    with (
        mmap.mmap(-1, PAGE) as memory,
        pytest.raises(TypeError, match="Open files, mappings and locks inside"),
    ):
        measure(lambda: memory[0])


def test_a_function_whose_module_is_not_there(tmp_path, monkeypatch):
    (tmp_path / "vanishing.py").write_text("def f(): return 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    import vanishing

    assert measure(vanishing.f).value == 1
    (tmp_path / "vanishing.py").unlink()
    with pytest.raises(TypeError, match=r"could not be loaded in a fresh interpreter: .*vanishing"):
        measure(vanishing.f)


@each_of(
    ("error", "words", "wrong"),
    (TypeError, r"measure\(f, x\), not measure\(f\(x\)\)", lambda: measure(abs(1))),
    (TypeError, r"no option intervall.*interval", lambda: compare({"a": abs}, 1, intervall=1)),
    (TypeError, "takes a dict from name to function", lambda: compare([abs], 1)),
    (ValueError, "repeat=0", lambda: compare({"a": abs}, 1, repeat=0)),
    (ValueError, "below what this machine can do", lambda: measure(abs, 1, interval=1e-7)),
    (ValueError, "timeout is in seconds, more than 0", lambda: measure(abs, 1, timeout=0)),
    (
        ValueError,
        "timeout is in seconds, more than 0",
        lambda: measure(abs, 1, timeout=float("nan")),
    ),
    (ValueError, "'8 MB' isn't a size", lambda: measure(abs, 1, memory_limit="8 MB")),
)
def test_wrong_calls_are_named(error, words, wrong):
    with pytest.raises(error, match=words):
        wrong()


def test_a_machine_that_is_slow_for_a_moment_is_asked_again(monkeypatch):
    costs = iter((1.0, 0.002, 1e-6))
    monkeypatch.setattr(sampler, "cost", lambda _: next(costs))
    assert measure(abs, -1).value == 1
    assert not list(costs)


# --- nothing is left, whatever it does ------------------------------------------------------------
@pytest.fixture
def trace(tmp_path):
    """A pipe for the function to open. It reads as x; then as None while any process that opened it
    is left.
    """
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as pipe:
        yield str(path), pipe


def opened(path) -> int:
    pipe = os.open(path, os.O_WRONLY)
    os.write(pipe, b"x")
    return pipe


def starts_a_session(path):
    subprocess.Popen(["sleep", "600"], start_new_session=True, pass_fds=[opened(path)])


def crashes(path):
    starts_a_session(path)
    os.kill(os.getpid(), signal.SIGSEGV)
    time.sleep(10)


def forks_and_exits_for_ever(path):
    opened(path)
    if os.fork():
        return
    while True:
        os.setsid()
        if os.fork():
            os._exit(0)


def hides_behind_two(path):
    opened(path)
    for _ in "12":
        if os.fork():
            return
        os.setsid()
    time.sleep(600)


@linux
@pytest.mark.parametrize(
    "function", [starts_a_session, crashes, forks_and_exits_for_ever, hides_behind_two]
)
def test_no_process_outlives_its_case(function, trace):
    path, pipe = trace
    assert measure(function, path).ended == ("SIGSEGV" if function is crashes else "returned")
    assert pipe.read(1) == b"x"
    assert pipe.read(1) == b""


@linux
def test_no_process_outlives_the_caller(trace):
    code = (
        "import sys, time; sys.path.insert(0, sys.argv[1]); import test_measure\nfrom "
        "helpers.measure import measure\ndef both(path): "
        "test_measure.forks_and_exits_for_ever(path); open(path + '.ready', 'x'); "
        "time.sleep(600)\nmeasure(both, sys.argv[2], timeout=600)"
    )
    path, pipe = trace
    caller = subprocess.Popen([sys.executable, "-c", code, Path(__file__).parent, path])
    assert until(Path(path + ".ready").exists, 60)
    assert pipe.read(1) == b"x"
    assert pipe.read(1) is None
    caller.kill()
    caller.wait()
    assert until(lambda: pipe.read(1) == b"")


def test_many_measures_in_many_threads():
    def work(number):
        return number, len(bytearray(MiB))

    with ThreadPoolExecutor(8) as pool:
        values = list(pool.map(lambda number: measure(work, number).value, range(50)))
    assert values == [(number, MiB) for number in range(50)]


@pytest.mark.skipif(os.name != "posix", reason="a folder in use cannot be deleted here")
def test_measuring_in_a_folder_that_has_been_deleted(tmp_path, monkeypatch):
    (gone := tmp_path / "gone").mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert measure(abs, -7).value == 7


# --- counted: what it starts, and what it does later ----------------------------------------------
def fills(size):
    block = bytearray(b"x") * size
    hold()
    return len(block)


def fills_in_a_fork():
    if (pid := os.fork()) == 0:
        fills(SIZE)
        os._exit(0)
    os.waitpid(pid, 0)


PROGRAM = f"import os, time\n{getsource(hold)}\nblock = bytearray(b'x') * {SIZE}\nhold()"


def fills_in_a_grandchild():
    subprocess.run(["sh", "-c", '"$0" -c "$1"; :', sys.executable, PROGRAM])


@pytest.mark.measured
@linux
@pytest.mark.parametrize("function", [fills_in_a_fork, fills_in_a_grandchild])
def test_memory_of_what_it_starts_counts(function):
    run = measure(function)
    assert run.ended == "returned"
    assert 0.95 * SIZE < run.peak.anonymous < 2 * SIZE
    assert measure(function, memory_limit=SIZE // 2).ended == "memory limit"


@pytest.mark.measured
@linux
def test_pages_shared_with_a_fork_count_once():
    def shares():
        block = bytearray(b"x") * SIZE
        children = [os.fork() for _ in "12"]
        if 0 in children:
            hold()
            os._exit(len(block) % 1)
        for child in children:
            os.waitpid(child, 0)

    assert measure(shares).peak.anonymous == pytest.approx(SIZE, rel=0.2)


@pytest.mark.measured
@linux
@pytest.mark.skipif(
    os.name == "posix" and os.geteuid() == 0, reason="root may look into every process"
)
def test_memory_that_nobody_may_look_into_counts_and_is_said():
    def hides():
        if (pid := os.fork()) == 0:
            ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE
            block = bytearray(SIZE)
            hold()
            os._exit(len(block) % 1)
        os.waitpid(pid, 0)

    run = measure(hides)
    assert run.peak.anonymous > 0.9 * SIZE
    assert "lets nobody look" in run.unseen


@pytest.mark.measured
@linux
def test_a_program_that_is_about_to_start_has_no_memory_of_its_own():
    def starts():
        for _ in range(20):
            subprocess.run(["true"])

    assert measure(starts).peak.anonymous < 4 * MiB


@pytest.mark.measured
@linux
@pytest.mark.parametrize("mapped", [False, True])
def test_a_memfd_is_shared_memory(mapped):
    def writes():
        file = os.memfd_create("file")
        for _ in range(SIZE // MiB):
            os.write(file, b"x" * MiB)
        kept = mmap.mmap(file, SIZE) if mapped else None
        hold(30)  # memfds are looked up only every 10 ms
        os.close(file)
        return kept and touch(kept, SIZE)

    assert measure(writes).peak.shared == pytest.approx(SIZE, rel=0.05)
    assert measure(writes, memory_limit=SIZE // 2).ended == "memory limit"


@pytest.mark.measured
@linux
def test_shared_memory_of_others_does_not_count():
    """The machine's shared memory grows meanwhile, and this process has room for it, but hasn't
    used it.
    """

    def waits():
        kept = mmap.mmap(-1, 2 * MiB)
        hold(30)
        return len(kept)

    others = os.memfd_create("others")
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(measure, waits)
        while not run.done():
            os.ftruncate(others, 0)
            os.write(others, b"x" * SIZE)
    os.close(others)
    assert run.result().peak.shared <= 2 * MiB
    assert run.result().unseen is None


@pytest.mark.measured
@linux
def test_what_a_thread_does_after_the_function_has_returned_counts():
    def leaves_a_thread():
        def work():
            time.sleep(0.2)
            fills(SIZE)

        threading.Thread(target=work).start()

    assert measure(leaves_a_thread).peak.anonymous > 0.9 * SIZE
    assert measure(leaves_a_thread, memory_limit=SIZE // 2).ended == "memory limit"


@pytest.mark.measured
def test_the_caller_has_a_clock_of_its_own():
    def changes_the_clock():
        time.perf_counter = lambda: 0.0
        block = np.full(SIZE // 8, 1.0)
        time.sleep(0.25)
        del block

    def changes_it_in_the_report():
        sys._getframe(1).f_globals["time"].perf_counter = lambda: -1e9
        return changes_the_clock()

    for function in (changes_the_clock, changes_it_in_the_report):
        run = measure(function)
        assert run.wall >= 0.25
        assert run.resident.max() > 0.9 * SIZE
        assert np.all(np.diff(run.times) >= 0)
        assert 0 <= run.times[0] <= run.times[-1] <= run.wall


# --- what it may spoil ----------------------------------------------------------------------------
def fills_the_table_of_descriptors():
    with contextlib.suppress(OSError):
        while True:
            os.open(os.devnull, os.O_RDONLY)


def takes(module, names):
    for name in names.split():
        setattr(module, name, None)


@each_of(
    "spoils",
    lambda: os.closerange(3, 256),
    fills_the_table_of_descriptors,
    lambda: sys.modules.clear(),
    lambda: sys.settrace(lambda *_: 1 / 0),
    lambda: takes(builtins, "len isinstance type min max int range bytes memoryview bytearray"),
    lambda: takes(os, "read write getpid pread close"),
)
def test_a_function_that_returned_has_returned_whatever_it_spoils(spoils):
    def works():
        block = bytearray(MiB)
        spoils()
        return [block[0], 2.5]

    run = measure(works)
    assert (run.ended, run.value, run.error) == ("returned", [0, 2.5], None)


@pytest.mark.needs(tool="root")
def test_a_function_may_change_the_root():
    assert measure(os.chroot, "/proc").ended == "returned"


@linux
def test_who_closes_every_descriptor_is_told_so():
    run = measure(lambda: os.closerange(0, 2**16))
    assert run.ended == "lost contact"
    assert "closed every file descriptor" in run.error


@pytest.mark.measured
def test_a_reduce_is_part_of_the_result():
    class Leaves:
        def __reduce__(self):
            raise SystemExit(0)

    class Sleeps:
        def __reduce__(self):
            time.sleep(600)

    run = measure(Leaves, objects=True)
    assert run.ended == "returned"
    assert "cannot leave its process (SystemExit: 0)" in run.error
    began = time.monotonic()
    assert measure(Sleeps, objects=True, timeout=1).ended == "timed out"
    assert time.monotonic() - began < 15


def test_who_prints_for_ever_is_stopped(capsys):
    def prints():
        while True:
            print("first" + "x" * MiB)

    for interval in (0.001, 30):
        run = measure(prints, interval=interval)
        out = capsys.readouterr().out
        assert run.ended == "printed too much"
        assert out.startswith("firstx")
        assert len(out) < 200_000


# --- what comes back ------------------------------------------------------------------------------
PLAIN = [
    None,
    True,
    0,
    -1,
    -128,
    255,
    10**400,
    -(2**63),
    1.5,
    float("inf"),
    -0.0,
    1j,
    "",
    "größer ✓",
    "\ud800",
    b"",
    b"\0",
    [],
    (),
    {},
    [1, (2, [3])],
    {"a": {1: 2}, None: 3, (1, "b"): [4], 2.5: 5, b"c": 6, True: 7},
]
ARRAYS = [
    np.arange(6, dtype="i2").reshape(2, 3),
    np.arange(6).reshape(2, 3).T,
    np.array(2.5),
    np.zeros((2, 0), "f4"),
    np.array(["a", "größer"]),
    np.array(["2026-01-01"], "M8[D]"),
    np.array([(1, 2.5)], [("n", "i4"), ("x", "f8", (2,))]),
    np.array([1, 2], ">u4"),
    np.float32(1.5),
    np.datetime64("2026-01-01"),
]


def test_plain_data_come_back_as_they_are():
    def back():
        return PLAIN, ARRAYS, float("nan")

    run = measure(back)
    plain, arrays, nan = run.value
    assert run.error is None
    assert repr(plain) == repr(PLAIN)
    assert nan != nan
    for came, sent in zip(arrays, ARRAYS, strict=True):
        assert type(came) is type(sent)
        assert came.dtype == sent.dtype
        assert came.shape == sent.shape
        assert repr(came) == repr(sent)
    assert arrays[0].flags.writeable
    assert arrays[0].flags.owndata


@each_of(
    ("made", "named"),
    (Unreadable, "a Unreadable"),
    (lambda: [{"a": {1, 2}}], "a set"),
    (lambda: type("Text", (str,), {})("x"), "a Text"),
    (lambda: np.array([None]), "an array of object"),
    (lambda: np.zeros(3, "V0"), "an array of"),
)
def test_what_is_no_plain_data_is_named_and_never_unpickled(made, named):
    run = measure(made)
    assert run.ended == "returned"
    assert run.value is None
    assert f"it is or holds {named}" in run.error


@pytest.mark.measured
def test_a_result_has_no_end_that_the_caller_pays_for():
    def nested(depth):
        value = []
        for _ in range(depth):
            value = [value]
        return value

    assert measure(nested, 90).value == nested(90)
    assert "deep" in measure(nested, 200).error
    assert "1,048,576 values" in measure(lambda: [None] * 2_000_000).error
    wide = measure(lambda: np.broadcast_to(np.zeros(1), 250_000_000), memory_limit="100 MiB")
    assert "larger than 16 MiB" in wide.error
    assert wide.ended == "returned"
    assert wide.resident.max() < 16 * MiB


def test_damaged_parcels_are_refused_or_are_plain_data():
    whole = bytearray(packed({"plain": PLAIN, "arrays": ARRAYS}))
    random = np.random.default_rng(0)
    for _ in range(3000):
        damaged = bytearray(whole)
        for at in random.integers(0, len(whole), random.integers(1, 4)):
            damaged[at] = random.integers(0, 256)
        try:
            assert type(unpacked(bytes(damaged[: random.integers(1, len(whole) + 1)]))) in {
                dict,
                type(None),
                bool,
            }
        except ValueError:
            continue


def test_an_array_must_fill_its_shape():
    def array(dtype, shape, data):
        return b"A" + len(data).to_bytes(4, "little") + packed(dtype) + packed(shape) + data

    assert unpacked(array("<u2", (2,), b"abcd")).shape == (2,)
    for wrong in (
        array("<u2", (2**62, 4), b""),
        array("<u2", (-1, -2), b"abcd"),
        array("|S0", (-1,), b""),
        array("O", (1,), bytes(8)),
        array("|S0", (2**40,), b""),
        array("<u2", (3,), b"abcd"),
        array("<u2", (2.0,), b"abcd"),
        array([("x", "u1")] * 1000, (1,), bytes(1000)),
    ):
        with pytest.raises(ValueError, match="no array of"):
            unpacked(wrong)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x",
        b"NN",
        marshal.dumps(compile("1", "", "eval"), 2),
        marshal.dumps({1}, 2),
        b"l\xff\xff\xff\x7f",
        b"L" + b"\xff" * 4,
        b"L\1" + bytes(3),
        b"u\1" + bytes(3) + b"\xff",
        b"L\1\0\0\0" * 5000 + b"N",
    ],
)
def test_what_was_not_packed_is_refused(data):
    with pytest.raises(ValueError, match=r"not packed plain data|after the end"):
        unpacked(data)


@pytest.mark.measured
def test_keys_that_collide_are_refused_at_once():
    # 1000 have the hash 0
    keys = {step * (2**61 - 1): None for step in range(1000)} | dict.fromkeys(range(1, 2000))
    began = time.process_time()
    with pytest.raises(ValueError, match="the same hash"):
        unpacked(bytes(packed(keys)))
    assert time.process_time() - began < 5


@pytest.mark.measured
def test_modules_are_imported_before_the_call(tmp_path, monkeypatch):
    (tmp_path / "heavy.py").write_text("data = b'x' * 40_000_000")
    (tmp_path / "broken.py").write_text("raise SystemExit")
    monkeypatch.syspath_prepend(tmp_path)

    def imports():
        import heavy

        return len(heavy.data)

    there = measure(imports)
    first = measure(imports, modules=("heavy", "broken", "not_there", ""))
    assert there.value == first.value == 40_000_000
    assert first.peak.resident < 4_000_000 < 36_000_000 < there.peak.resident
    with pytest.raises(TypeError, match=r"write \['heavy'\]"):
        measure(imports, modules="heavy")


def test_an_error_without_end_is_shortened():
    def raises(text):
        raise ValueError(eval(text))

    run = measure(raises, "'x' * 200_000_000")
    assert run.ended == "raised"
    assert len(run.error) < 10_000
    assert len(run.ending) < 2_000
    lines = measure(raises, "'\\n'.join(map(str, range(1_000_000)))").error
    assert "lines left out" in lines
    assert lines.endswith("999999")
    assert len(lines) < 10_000


# --- Recording and Comparison ---------------------------------------------------------------------
def test_recordings_and_comparisons_survive_json():
    run = measure(lambda: {"answer": 42}, heap=True)
    again = Recording.from_json(json.loads(json.dumps(run.to_json())))
    assert again.to_json() == run.to_json()
    assert again.value == {"answer": 42}
    assert again.times.dtype == np.float64
    path = measure(Path, "somewhere", objects=True)
    assert "somewhere" in Recording.from_json(path.to_json()).value, (
        "JSON holds no Path: it's kept as its repr"
    )
    old = run.to_json()
    del old["virtual_peak"]
    assert "virtual" in Recording.from_json(old).missing, "made before there was that meter"
    for wrong in ([], run.to_json() | {"version": 99}):
        with pytest.raises(ValueError, match="not a 'zero-copy recording'"):
            Recording.from_json(wrong)
    both = Comparison({"a": [run], "b": [path]})
    assert repr(Comparison.from_json(both.to_json())) == repr(both)


def test_a_recording_knows_its_machine(file):
    machine = measure(mapping_touched, file).machine
    assert machine.page_size == PAGE
    assert machine.cores == os.cpu_count()
    assert machine.file_system or not any(
        one.mountpoint == "/" for one in psutil.disk_partitions(all=True)
    )
    assert machine.python.startswith(f"{sys.version_info.major}.{sys.version_info.minor}")
    assert all(
        fact in str(machine) for fact in (machine.system, machine.file_system or "", machine.python)
    )
    assert measure(os.getpid).machine.file_system is None, "no file was measured"


def test_a_comparison_keeps_order_and_chooses_the_fastest_run_that_returned(tmp_path):
    def fails_later(path):
        if path.exists():
            raise OSError("again")
        path.touch()
        time.sleep(0.05)

    both = compare(
        {"slow": lambda _: time.sleep(0.25), "once": fails_later}, tmp_path / "made", repeat=3
    )
    assert list(both) == ["slow", "once"]
    assert both["slow"].wall == min(run.wall for run in both.runs["slow"])
    assert len(both.runs["slow"]) == 3
    assert [run.ended for run in both.runs["once"]] == ["returned", "raised", "raised"]
    assert both["once"].ended == "returned"


def test_tables_have_units_and_say_how_a_run_ended():
    both = compare({"fine": os.getpid, "broken": raising})
    header, rows = both.table("anonymous", "wall")
    assert header == ("method", "anonymous, peak", "time")
    assert rows[1][0] == "broken (raised)"
    assert rows[0][1].split()[1] in ("B", "KiB", "MiB")
    html = both._repr_html_()
    assert html.count('scope="row"') == 2
    assert "<caption" in html
    with pytest.raises(ValueError, match="no meter 'rss'; there are: anonymous"):
        both.table("rss")


def test_a_comparison_checks_the_work(tmp_path):
    def right():
        (tmp_path / "done").touch()

    assert (
        compare({"right": right, "raising": raising}, check=(tmp_path / "done").exists)[
            "raising"
        ].ended
        == "raised"
    )
    with pytest.raises(ValueError, match="lazy did not do its work"):
        compare({"lazy": os.getpid}, check=(tmp_path / "never").exists)


def test_a_comparison_prepares_every_run(tmp_path):
    log = tmp_path / "log"

    def logs(path):
        with open(path, "a") as out:
            out.write(f"{os.getpid()}\n")

    compare({"a": logs, "b": logs}, log, repeat=2, heap=True, before=logs)
    # two of them traced
    assert [int(pid) == os.getpid() for pid in log.read_text().split()] == [True, False] * 6


@pytest.mark.measured
def test_prints_survive_a_time_limit_and_other_alphabets(capsys):
    def prints():
        print("größer ✓")
        forever()

    measure(prints, timeout=1)
    assert capsys.readouterr().out == "größer ✓\n"


def test_of_very_much_that_is_printed_beginning_and_end_are_shown(capsys):
    measure(lambda: print("first", "x" * MiB, "last"))
    out = capsys.readouterr().out
    assert out.startswith("first")
    assert out.endswith("last\n")
    assert "bytes left out" in out
    assert len(out) < 200_000


# --- the page cache, and what can be measured -----------------------------------------------------
@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root is told everything")
def test_the_page_cache_of_a_file_of_others_is_not_told():
    seen = page_cache("/etc/passwd")
    assert seen.cached is None
    assert "users who own the file" in repr(seen)


@linux
def test_abilities_are_tried():
    found = {row.meter: row.here for row in abilities().rows}
    assert found["anonymous, file-backed, shared"]
    assert found["page cache of a file"]
    assert found["os.sendfile"]
    assert abilities()._repr_html_().count("<tr>") == len(found) + 1


# --- where there is no /proc ----------------------------------------------------------------------
@pytest.fixture
def portable(monkeypatch):
    monkeypatch.setattr(sampler, "choose", lambda: sampler.Portable)


@pytest.mark.measured
def test_the_portable_sampler_measures_what_it_can(portable, file):
    run = measure(mapping_touched, file)
    assert run.anonymous is None
    assert run.peak.anonymous is None
    assert run.virtual_peak is None
    assert {"anonymous", "file", "shared"} <= set(run.missing)
    assert run.resident.max() == pytest.approx(SIZE, abs=0.02 * SIZE + MiB)
    assert "not measured here" in run._repr_html_()
    assert "kinds not measured here" in repr(run)


@pytest.mark.measured
def test_the_portable_sampler_sees_ends_and_keeps_limits(portable):
    assert measure(os._exit, 3).ended == "exited 3"
    assert measure(memory_bomb, memory_limit="64 MiB").ended == "memory limit"
    assert measure(forever, timeout=0.2).ended == "timed out"


@pytest.mark.measured
@linux
def test_the_name_of_a_process_is_not_taken_for_a_figure():
    def renamed(name):
        Path("/proc/self/comm").write_text(name)
        return bytearray(b"x" * 32 * MiB)

    for name in ("VmSize: a b", "RssAnon: a b"):
        assert measure(renamed, name).peak.anonymous > 31 * MiB
