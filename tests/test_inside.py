"""What a measured process sees of itself: marks, calls, imports, a warm call, the stack; and what
stays at its end.
"""

import io
import json
import mmap
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from pictures import recording

from helpers.folders import ROOT
from helpers.measure import Recording, mark, measure, stacks
from helpers.measure import run as running
from helpers.measure.run_report import notes, rows
from helpers.units import MiB

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="read from /proc, Linux only")


def take(size: int) -> bytearray:
    return bytearray(b"x") * size


# --- what stays -----------------------------------------------------------------------------------
@pytest.mark.measured
def test_what_stays_is_what_is_there_when_the_call_has_ended():
    def keeps_a_part():
        data = take(48 * MiB)
        time.sleep(0.02)
        return data[: 16 * MiB]

    run = measure(keeps_a_part)
    assert run.left["anonymous"] == pytest.approx(16 * MiB, rel=0.1)
    assert run.peak.anonymous > 60 * MiB
    cells = dict(rows([run]))
    assert cells["anonymous, at the end"].startswith("16")
    assert cells["shared, at the end"] == "0 B"


def test_of_a_call_that_did_not_end_nothing_stays():
    run = measure(time.sleep, 60, timeout=0.1)
    cells = dict(rows([run]))
    assert run.left == {}
    assert cells["anonymous, at the end"] == cells["waits"] == "–"


# --- a peak that is too short ---------------------------------------------------------------------
@pytest.mark.parametrize(("mark", "missed"), [(7.6, True), (1.6, False)])
def test_a_peak_that_the_sampler_missed_is_told_with_both_figures(mark: float, missed: bool):
    run = recording(anonymous=1, high_water=int(mark * MiB))
    words = "highest sample is 1 MiB resident, and the kernel's high-water mark is 7.6 MiB"
    assert [words in note for note in notes(run)] == [True] * missed


# --- code that was imported -----------------------------------------------------------------------
@pytest.fixture
def heavy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules that take 40 MB, one through the other, and one that fails."""
    (tmp_path / "heavy_code.py").write_text("data = b'x' * 40_000_000")
    (tmp_path / "around_heavy.py").write_text("import heavy_code")
    (tmp_path / "failing_code.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.measured
def test_what_was_imported_meanwhile_is_told_apart(heavy: None):
    def imports():
        import around_heavy

        return len(around_heavy.heavy_code.data) + len(take(20 * MiB))

    run = measure(imports)
    assert run.imported == pytest.approx(40e6, rel=0.05)
    assert run.peak.anonymous > 58e6
    assert run.imports == ("around_heavy",)
    assert any("`--modules around_heavy`" in note for note in notes(run))
    before = measure(imports, modules=["around_heavy", "failing_code", "not_there", ""])
    assert before.imported < MiB
    assert not any("imported" in note for note in notes(before))


def test_an_error_in_a_module_shows_no_line_of_ours(heavy: None):
    def imports():
        import failing_code  # noqa: F401

    error = measure(imports).error
    assert "failing_code.py" in error
    assert "ZeroDivisionError" in error
    assert "measure/inside.py" not in error
    assert "child.py" not in error
    assert "importlib" not in error


# --- one call before ------------------------------------------------------------------------------
@pytest.mark.measured
def test_a_warm_call_has_its_imports_and_caches_behind_it(heavy: None):
    def imports_and_takes(kept=[]):  # noqa: B006
        import heavy_code  # noqa: F401

        kept.append(None)
        for _ in range(2):  # glibc keeps what the second frees
            take(20 * MiB)
        return len(kept)

    cold = measure(imports_and_takes)
    warm = measure(imports_and_takes, warm=True)
    assert (cold.value, warm.value) == (1, 2)
    assert cold.peak.resident > 60e6
    assert warm.peak.resident == pytest.approx(20 * MiB, rel=0.1), (
        "and memory that the first call has freed is new"
    )


def test_what_a_warm_call_raises_the_measured_call_raises():
    def raises():
        raise KeyError("third")

    assert "KeyError: 'third'" in measure(raises, warm=True).error


# --- marks ----------------------------------------------------------------------------------------
@pytest.mark.measured
def test_marks_have_their_time_and_the_memory_then():
    notebook = {"__name__": "__main__"}
    exec(Path(__file__).with_name("sample_marks.txt").read_text(encoding="utf-8"), notebook)
    run = measure(notebook["marks"])
    assert run.value == (16 * MiB, False), "nothing else of the package was imported for it"
    begun, later = run.marks
    assert (begun.name, later.name) == ("begun", "in a thread")
    assert begun.anonymous < MiB
    assert later.anonymous == pytest.approx(16 * MiB, rel=0.1)
    assert begun.time < 0.05 <= later.time <= run.wall
    assert Recording.from_json(json.loads(json.dumps(run.to_json()))).marks == run.marks


def test_code_that_imports_only_mark_may_ask_for_more():
    notebook = {"__name__": "__main__"}
    exec(
        "def asks():\n    from helpers.measure import mark, where\n    return where.__name__",
        notebook,
    )
    assert measure(notebook["asks"], modules=["helpers.measure.marks"]).value == "where"


def test_marks_do_nothing_elsewhere_and_their_number_is_limited():
    def marks():
        for number in range(5000):
            mark(f"number {number}")

    marks()
    run = measure(marks)
    assert (run.io.read_calls, run.io.read_bytes) == (0, 0), "a mark's own reading doesn't count"
    assert 500 <= len(run.marks) < 1000 == run.marked / 5
    assert "of 5,000 marks were kept" in next(notes(run))


def test_of_many_marks_the_highest_and_the_rare_are_kept():
    def marks():
        for number in range(5000):
            taken = bytearray(b"x") * (4 * MiB) if number in (1234, 4000) else None
            mark("rare" if number == 4000 else "often")
            del taken

    cells = dict(rows([measure(marks)]))
    assert all(cells[f"“{name}”"].startswith("4") for name in ("rare", "often")), cells
    assert "(the highest of " in cells["“often”"]


@pytest.mark.measured
def test_calls_of_a_function_of_a_file_are_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "decoder.py").write_text(
        "class Reader:\n    @staticmethod\n    def read(n): return bytearray(b'x') * n\n"
        "def decode(n): return Reader().read(n)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import decoder

    run = measure(decoder.decode, 16 * MiB, calls=["decoder:decode", "decoder:Reader.read"])
    assert [each.name for each in run.marks] == [
        "decode called",
        "Reader.read called",
        "Reader.read ended",
        "decode ended",
    ]
    assert run.marks[3].anonymous - run.marks[0].anonymous == pytest.approx(16 * MiB, rel=0.1)
    assert any("growth of the whole process since the run began" in note for note in notes(run))
    with pytest.raises(
        TypeError, match=r"^can't mark the calls of decoder:missing: .* has no attribute 'missing'$"
    ):
        measure(decoder.decode, 1, calls=["decoder:missing"])


def test_both_lines_of_a_function_are_of_the_call_that_read_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "reader.py").write_text(
        "def read(path, n):\n    with open(path, 'rb', 0) as file: return len(file.read(n))\n"
        "def reads(path, *sizes): return [read(path, n) for n in sizes]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import reader

    (data := tmp_path / "data").write_bytes(bytes(MiB))
    run = measure(reader.reads, data, 1, MiB, 9, calls=["reader:read"])
    read = [mark.read_bytes for mark in run.marks]
    assert [after - before for before, after in pairwise(read)] == [1, 0, MiB, 0, 9]
    called, ended = (cell for name, cell in rows([run]) if name.startswith("“read "))
    assert " 1 B read after" in called
    assert " 1 MiB read after" in ended
    assert ended.endswith("(of 3 calls, the one that took and read most)")
    many = measure(reader.reads, data, *[1] * 3000, calls=["reader:read"])
    assert {*Counter(mark.call for mark in many.marks).values()} == {2}


# --- which stacks allocated it --------------------------------------------------------------------
def temporary_then_kept() -> int:
    kept = []
    for _ in range(12):
        (np.ones(1_500_000) * 2).sum()  # goes
        kept.append(np.ones(1_500_000))  # stays
        time.sleep(0.005)
    return len(kept)


def workers_fill_lists() -> int:
    with ThreadPoolExecutor(4) as pool:
        filled = [pool.submit(lambda: time.sleep(0.01) or take(4 * MiB)) for _ in range(8)]
        return sum(len(each.result()) for each in as_completed(filled))


def fills_and(end: Callable) -> None:
    kept = [bytearray(b"x") * MiB for _ in range(24)]  # all of it
    time.sleep(0.1)
    end(kept)


def runs_out(kept: list) -> None:
    raise MemoryError(len(kept))


def is_killed(kept: list) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def waits(kept: list) -> None:
    time.sleep(60)


@pytest.fixture
def no_memray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "memray.py").write_text("raise ImportError('not here')")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.measured
def test_the_stack_names_the_line_that_keeps_and_not_the_temporary():
    run = measure(temporary_then_kept, stack=True)
    head, first, _, line, *_ = run.stack.splitlines()
    assert "with memray" in head
    assert " of 137 MiB at the peak" in first
    assert line.endswith("# stays")
    assert int(first.split()[0]) > 110
    assert "# goes" not in run.stack
    assert "only what is touched is resident" in head
    assert re.search(r"\n  In smaller stacks: \d.* at the peak\. Shown are the largest,", run.stack)
    assert "left. What is resident beyond that, an allocator keeps after it was freed" in run.stack
    assert "measure/" not in run.stack
    assert measure(temporary_then_kept).stack is None


@pytest.mark.slow
@pytest.mark.measured
def test_what_threads_allocate_is_theirs_and_not_the_line_s_that_waits():
    stack = measure(workers_fill_lists, stack=True).stack
    assert re.search("32.* MiB of 32.* MiB at the peak:", stack)
    assert "in _bootstrap" in stack
    assert "in take" in stack
    assert "as_completed" not in stack


@pytest.mark.slow
@pytest.mark.measured
@pytest.mark.parametrize(
    ("end", "ended", "left"),
    [
        (runs_out, "raised", "at the peak:"),
        (is_killed, "SIGKILL", "at the end:"),
        (waits, "timed out", "at the end:"),
    ],
)
def test_what_does_not_return_has_its_stack_and_how_it_ended(end: Callable, ended: str, left: str):
    run = measure(fills_and, end, stack=True, timeout=2)
    assert run.ended == ended
    assert run.stack.endswith(f"\nThat run's end: {ended}.")
    assert run.stack.splitlines()[1].endswith(left)
    assert "# all of it" in run.stack


def test_a_stack_names_a_file_as_one_imports_it():
    assert stacks.frame((np.__file__, 1, "f")).filename == os.path.join("numpy", "__init__.py")
    assert stacks.frame(("/elsewhere/code.py", 1, "f")).filename == "/elsewhere/code.py"


def test_what_was_mapped_is_told_apart():
    stack = measure(lambda: len(mmap.mmap(-1, 64 * MiB)), stack=True).stack
    assert "64 MiB of 64" in stack
    assert ", mapped:" in stack
    assert "Mapped, touched or not" in stack


def names_and_pairs() -> int:
    kept = []
    for n in range(200_000):
        name = f"a name of {n:20}"  # names
        kept.append((n, name))  # pairs
    return len(kept)


@pytest.mark.slow
@pytest.mark.measured
def test_small_objects_are_their_own_lines():
    """Python takes memory for them by the MiB: the line that needs the next one isn't the one whose
    objects fill it.
    """
    _, *told = measure(names_and_pairs, stack=True).stack.splitlines()
    sizes = {
        text.rpartition("# ")[2]: float(head.split()[0])
        for head, _, text in zip(*[iter(told)] * 3, strict=False)
    }
    name = sys.getsizeof(f"a name of {0:20}")
    pair = sys.getsizeof((0, ""))
    assert sizes["names"] == pytest.approx(200_000 * name / MiB, rel=0.1), told
    # and a place in the list
    assert sizes["pairs"] == pytest.approx(200_000 * (pair + 8) / MiB, rel=0.2), told


def test_a_block_that_was_resized_is_told_apart():
    def read() -> int:
        out = io.BytesIO()
        data = bytes(32 * MiB)
        out.write(data[:100])
        out.write(data)
        return out.write(data)

    stack = measure(read, stack=True).stack
    assert ", resized there:" in stack
    assert "Another line may have filled it." in stack


@pytest.mark.slow
@pytest.mark.parametrize("modules", [["numpy"], ["numpy", "pyarrow"]])
def test_the_addresses_that_arrow_reserves_are_not_memory(modules: list[str]):
    def grows() -> int:
        import pyarrow

        kept = pyarrow.array(["a"]), np.ones(8 * MiB)
        return len(kept)

    pytest.importorskip("pyarrow")
    assert " 64 MiB of " in measure(grows, stack=True, modules=modules).stack.replace("\n", " ")


@pytest.mark.slow
@pytest.mark.measured
def test_without_memray_tracemalloc_tells_what_it_saw(no_memray: None):
    runs = []
    how = running.Options(stack=True)
    kept = running.measured(temporary_then_kept, (), how, before=lambda: runs.append("")).stack
    assert len(runs) == 2, "measured, and traced once"
    assert "with tracemalloc" in kept
    assert kept.endswith("ImportError: not here.")
    assert kept.splitlines()[3].endswith("# stays")
    assert "# all of it" in measure(fills_and, is_killed, stack=True).stack


def test_what_writes_too_much_is_stopped(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(running, "MOST_TRACED", 0)
    assert measure(time.sleep, 1, stack=True).stack.endswith("That run's end: traced too much.")


@pytest.mark.measured
def test_where_freed_blocks_go_back_at_once_a_copy_rises(monkeypatch: pytest.MonkeyPatch):
    def copies(size):
        data = np.ones(size)
        (data * 2).sum()
        (data * 3).sum()
        mark("summed")
        column = data.reshape(-1, 100).T.ravel()
        mark("raveled")
        return len(column)

    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", "131072")
    summed, raveled = (each.anonymous for each in measure(copies, 2_000_000).marks)
    assert raveled - summed == pytest.approx(15 * MiB, rel=0.1)


# --- a script -------------------------------------------------------------------------------------
def run_script(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess:
    (tmp_path / "beside.py").write_text("status = 3")
    shutil.copy(Path(__file__).with_name("sample_script.txt"), tmp_path / "script.py")
    command = [sys.executable, "-m", "helpers.measure", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


@pytest.mark.measured
def test_a_script_gives_a_table_a_picture_and_json(tmp_path: Path):
    picture = tmp_path / "run.png"
    kept = tmp_path / "run.json"
    done = run_script(
        tmp_path, "-o", picture, "--json", kept, "--stack", "--heap", tmp_path / "script.py", "32"
    )
    assert done.returncode == 3
    assert not done.stderr
    assert done.stdout.startswith("argument 32 False\n")
    assert "heap, at the end, in a run of its own" in done.stdout
    assert "The heap is what Python's own allocators" in done.stdout
    assert "“At the end” is what was there after the script's last line" in done.stdout
    frame = r' at the peak.*:\n  File .*script.py", line \d+, in <module>\n    data = main\(\)'
    assert re.search(frame, done.stdout), done.stdout
    run = Recording.from_json(json.loads(kept.read_text()))
    assert run.imported > 4 * MiB, "its numpy counts: no other was there before"
    assert run.marks[0].name == "taken"
    assert 32 * MiB < run.marks[0].anonymous <= run.peak.resident
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_script_that_fails_shows_its_own_lines(tmp_path: Path):
    done = run_script(tmp_path, str(tmp_path / "script.py"), "many")
    assert done.returncode == 1
    assert "ValueError: invalid literal" in done.stdout
    assert "runpy" not in done.stdout
    assert "helpers/measure" not in done.stdout
    assert "there is no file" in run_script(tmp_path, "missing.py").stderr
    for own in ("main", "__main__:main", "script:main"):
        assert (
            "in the script itself, call mark()"
            in run_script(tmp_path, "-f", own, str(tmp_path / "script.py")).stderr
        )


def test_a_script_that_is_interrupted_still_gives_its_table(tmp_path: Path):
    (tmp_path / "forever.py").write_text("print('begun', flush=True)\nwhile True: pass")
    command = [sys.executable, "-m", "helpers.measure", tmp_path / "forever.py"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        shown = process.stdout.read()
    assert process.returncode == 1
    assert "anonymous, peak" in shown
    assert shown.endswith("It didn't end by itself: interrupted.\n")
