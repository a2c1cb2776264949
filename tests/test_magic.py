"""`%measure` in a real IPython: what it shows and returns, what it refuses to carry, and that
nothing is left.
"""

import gc
import multiprocessing
import os
import re
import signal
import threading
import weakref
from ast import literal_eval
from collections.abc import Callable
from pathlib import Path

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell
from IPython.utils.capture import capture_output
from tables import cases, each

from helpers.measure import Recording, sampler
from helpers.show.magic import LOCAL_NAME, Raised
from helpers.units import MiB

linux = pytest.mark.skipif(
    not os.path.exists("/proc/self/status"), reason="kinds of memory are told apart on Linux"
)


class Shown:
    """What a cell returned and showed: its value or error, what it printed, and the HTML it
    displayed.
    """

    def __init__(self, result: ExecutionResult, printed: str, html: list[str]):
        self.value = result.result
        self.error = result.error_in_exec
        self.printed = printed
        self.html = html

    @property
    def alt(self) -> str:
        """The alternative text of the curves."""
        return re.search(r'<img alt="([^"]*)"', self.html[0])[1]


@pytest.fixture
def run(shell: InteractiveShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable:
    """Runs cells, after `%load_ext helpers` and what the tests share. Returns what the last one
    showed.
    """
    monkeypatch.chdir(tmp_path)

    def ran(*cells: str) -> Shown:
        for text in cells:
            with capture_output() as captured:
                result = shell.run_cell(text, store_history=True)
        assert not result.error_before_exec
        return Shown(
            result,
            captured.stdout,
            [out.data["text/html"] for out in captured.outputs if out.data],
        )

    ran(
        "%load_ext helpers",
        "import mmap, os, threading, time\nimport numpy as np",
        "size = 64 << 20",
        "def taken(n):\n    data = bytearray(b'x') * n\n    time.sleep(0.1)\n    return len(data)",
    )
    ran.names = shell.user_ns
    return ran


# --- what it shows, and what comes back -----------------------------------------------------------
@pytest.mark.measured
def test_a_line_gives_its_value_its_curves_and_every_meter(run):
    shown = run("%measure taken(size)")
    assert shown.value == 64 * MiB
    assert shown.error is None
    assert shown.alt.startswith("Memory over time, one panel per method. taken(size): ")
    for meter in (
        "anonymous, peak",
        "minor faults",
        "read calls",
        "bytes read, from the cache too",
        "time",
    ):
        assert f">{meter}<" in shown.html[1]


@pytest.mark.measured
@linux
def test_the_code_counts_and_what_it_is_given_does_not(run):
    recording = run("%measure -o -q taken(size)").value
    assert isinstance(recording, Recording)
    assert recording.value == 64 * MiB
    assert recording.peak.anonymous == pytest.approx(64 * MiB, rel=0.05)
    given = run("data = np.ones(size, np.uint8)", "%measure -o -q int(data[::4096].sum())").value
    assert given.value == 64 * MiB / 4096
    assert given.peak.anonymous < 8 * MiB


@pytest.mark.parametrize(
    "code",
    [
        "str('a   b')",
        '"it\'s"',
        "'{size} $size'",
        "-1",
        "'-r 3'",
        "n = 3; n + 1",
        "(lambda n: n * size)(2)",
    ],
)
def test_the_code_arrives_as_it_was_written(run, code: str):
    assert run(f"%measure -q -r1 {code}").value == run(code).value is not None


def test_a_cell_is_one_function_whose_names_stay_where_they_were_made(run):
    shown = run(
        "%%measure\nrows = [bytes(3) for n in range(4)]\ndef width(n): return n + "
        "len(rows)\nwidth(24)"
    )
    assert shown.value == 28
    assert shown.alt.startswith("Memory over time, one panel per method. Cell In[5]: ")
    assert not {"rows", "width"} & run.names.keys()
    assert "Assigned in the fresh process only: rows, width.\n" in shown.printed


def test_what_it_prints_is_shown_and_so_is_why_a_value_cannot_come_back(run):
    shown = run("%measure -q print('moved') or (n for n in range(3))")
    assert shown.value is None
    assert shown.printed.startswith("moved\n")
    assert "The result, a generator, was not sent back: it cannot leave" in shown.printed


CACHED = cases("magic")["cached"]


@each("magic", "wrapped")
def test_what_functools_has_wrapped_is_carried(run, code: str, value: str):
    shown = run(CACHED, f"%measure {code}")
    assert shown.value == literal_eval(value)
    assert ("has a cache, which was empty there" in shown.printed) == ("fibonacci" in code)


def test_a_pool_finds_the_functions_of_the_notebook(run):
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("there is no fork here")
    made = "import multiprocessing\nclass Pair(tuple): pass\ndef double(n): return Pair((n, 2 * n))"
    pool = (
        "with multiprocessing.get_context('fork').Pool(2) as pool:\n    made = pool.map({}, [1, 2])"
    )
    cell = f"%%measure -q\n{pool}\nmade[1]"
    assert run(made, cell.format("double")).value == (2, 4)
    local = run(cell.replace("\nwith", "\ndef third(n): return 3\nwith").format("third")).printed
    assert local.rstrip().endswith("define `third` in a cell above, and use it here.")


def test_a_pool_that_is_not_forked_says_what_to_do(run):
    made = (
        "import multiprocessing\nfrom concurrent.futures import ProcessPoolExecutor\ndef "
        "double(n): return 2 * n"
    )
    pool = "ProcessPoolExecutor(2, mp_context=multiprocessing.get_context('spawn'))"
    shown = run(made, f"%%measure\nwith {pool} as pool:\n    made = list(pool.map(double, [1, 2]))")
    assert shown.printed.rstrip().endswith("or put the function in a file.")


def test_coroutines_run_and_a_generator_says_that_it_has_not(run):
    waits = (
        "import asyncio\nasync def waits(n):\n    await asyncio.sleep(0.01)\n    return n / (n - 1)"
    )
    assert run(waits, "%measure -q waits(2)").value == 2
    assert run("%measure -q await waits(3)").value == 1.5
    assert (
        "TypeError: 'async for' requires an object"
        in run("%%measure\nasync for n in waits:\n    pass").printed
    )
    lines = run("%measure await waits(1)").printed.splitlines()
    assert lines[0].startswith("Traceback")
    assert "in waits" in lines[3]
    assert not any("asyncio" in line for line in lines[1:])
    unused = (
        "The result, a generator, was not sent back: it cannot leave its process, and none of its "
        "code has run"
    )
    assert unused in run("def numbers():\n    yield 1", "%measure -q numbers()").printed


# --- options, as of %memit ------------------------------------------------------------------------
def test_repeated_runs_stand_side_by_side(run):
    shown = run("%measure -c -r 3 taken(size)")
    assert [name in shown.html[1] for name in ("run 1", "run 3", "run 4", "measured")] == [
        True,
        True,
        False,
        False,
    ]
    assert "The fastest of 3 runs, each in a fresh process." in shown.html[0]


@pytest.mark.measured
def test_heap_and_interval(run):
    assert run("%measure -o -q --heap taken(size)").value.heap_peak == pytest.approx(
        64 * MiB, rel=0.05
    )
    assert "heap, peak" in run("%measure --heap 1").html[1]
    often, rarely = (
        run(f"%measure -o -q -i {i} time.sleep(0.5)").value.times for i in (0.005, 0.2)
    )
    assert len(often) > 3 * len(rarely)


@pytest.mark.measured
@linux
def test_marks_what_stays_and_the_stack_are_shown(run):
    cell = (
        "data = bytearray(b'x') * size\nmark('taken')\nhalf = bytes(data[: size // 2])\nlen(half)"
    )
    shown = run(f"%%measure --stack --warm\nfrom helpers.measure import mark\n{cell}")
    assert re.search("“taken” at 64.* MiB anonymous after .* at the end", shown.alt)
    assert ">“taken”<" in shown.html[1]
    assert ">anonymous, at the end<" in shown.html[1]
    assert re.search(
        r" at the peak.*:\n  Cell In\[5\], line 5\n    half = bytes.*\n(?!    half)", shown.printed
    )
    assert "That run's end: SIGABRT." in run("%measure -q --stack os.abort()").printed
    assert [mark.name for mark in run("%measure -o -q -f taken taken(9)").value.marks] == [
        "taken called",
        "taken ended",
    ]
    assert run("%measure -o -q import numpy").value.imported > MiB
    assert run("%measure -o -q --modules numpy import numpy").value.imported == 0


@pytest.mark.measured
def test_a_run_that_is_stopped_or_dies_says_so_even_if_it_should_be_quiet(run):
    shown = run("%%measure -o -t 0.3\nwhile True:\n    pass")
    assert shown.error is None
    assert "timed out" in shown.alt
    assert shown.value.wall < 10
    assert "It didn't return: timed out; -t gives it more seconds" in shown.printed
    dead = run("%measure -q os.abort()")
    assert dead.error is None
    assert not dead.html
    assert "It didn't return: ended by SIGABRT." in dead.printed


@each("magic", "refused")
def test_what_cannot_be_measured_is_refused_with_a_remedy(run, text: str, words: str):
    error = run(text).error
    assert isinstance(error, UsageError)
    assert words in str(error)


# --- what is carried ------------------------------------------------------------------------------
@each("magic", "not_carried")
def test_what_cannot_be_carried_is_named_with_who_uses_it(
    run, tmp_path: Path, made: str, code: str, words: str
):
    (tmp_path / "file.bin").write_bytes(b"x" * 100)
    error = run(made, f"%measure {code}").error
    assert isinstance(error, UsageError)
    assert words in str(error)
    assert str(error).endswith("Pass a path, and open or make it in what you measure.")


def test_a_refusal_keeps_nothing(run):
    made = "class Large: pass\nlarge = Large()\nlarge.lock = threading.Lock()"
    error = run(made, "%measure large.lock").error
    alive = weakref.ref(run.names.pop("large"))
    gc.collect()
    assert "`large`, a Large" in str(error)
    assert alive() is None


def test_a_mapped_table_is_not_carried(run, tmp_path: Path):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"x": range(10_000)})
    with pyarrow.ipc.new_file(str(tmp_path / "file.arrow"), table.schema) as file:
        file.write(table)
    code = "t = pyarrow.ipc.open_file(pyarrow.{}).read_all()"
    mapped = run(
        "import pyarrow", code.format("memory_map('file.arrow')"), "%measure t.num_rows"
    ).error
    assert "`t`, a Table that the line uses" in str(mapped)
    assert "it shows a mapped file" in str(mapped)
    assert (
        run("import pyarrow", code.format("OSFile('file.arrow')"), "%measure -q t.num_rows").value
        == 10_000
    )


def test_a_name_that_the_cell_makes_itself_is_not_carried(run, tmp_path: Path):
    (tmp_path / "file.bin").write_bytes(b"x" * 100)
    cell = "%%measure\nwith open('file.bin', 'rb') as book:\n    text = book.read()\nlen(text)"
    assert run("book = open('file.bin', 'rb')", cell).value == 100


# --- errors ---------------------------------------------------------------------------------------
def test_an_error_stands_there_with_the_reader_s_own_lines_and_no_other(run):
    shown = run("def half(n):\n    return 1 / n", "%%measure --stack\n\nzero = 0\nhalf(zero)")
    assert isinstance(shown.error, Raised)
    assert shown.alt.endswith("raised.")
    assert shown.printed.splitlines()[-6:] == [
        "Traceback (most recent call last):",
        "  Cell In[6], line 4",
        "    half(zero)",
        "  Cell In[5], line 2, in half",
        "    return 1 / n",
        "ZeroDivisionError: division by zero",
    ]
    assert "helpers" not in shown.printed
    assert ">anonymous, peak<" in shown.html[1]
    assert "That run's end: raised." in shown.printed


def test_an_error_in_a_library_keeps_the_library_s_lines(run):
    trace = run("%measure __import__('json').loads('{')").printed
    assert re.search(
        r'Cell In\[5\], line 1\n .*\n  File ".*json/__init__.py", line \d+, in loads\n', trace
    )


@each("magic", "no_cell")
def test_a_cell_that_is_no_cell_is_a_syntax_error(run, cell: str, words: list[str]):
    assert run(f"%%measure\n{cell}").printed.splitlines() == words


def test_a_name_that_the_cell_takes_for_its_own_is_explained(run):
    assert run("%%measure\nsize += 1").printed.rstrip().endswith(f"{LOCAL_NAME}.")
    late = "def late():\n    size = size + 1"
    assert run(late, "%%measure\nlate()").printed.rstrip().endswith("not associated with a value")


# --- the rest -------------------------------------------------------------------------------------
@pytest.mark.measured
def test_interrupting_leaves_nothing_running(run, descendants: Callable):
    before = descendants()
    threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    shown = run(
        "%%measure\nimport subprocess, sys\nsubprocess.run([sys.executable, '-c', 'while True: "
        "pass'])"
    )
    assert isinstance(shown.error, KeyboardInterrupt)
    assert (
        shown.printed
        == "KeyboardInterrupt: the run was stopped, with everything that it had started\n"
    )
    assert shown.alt.endswith("interrupted.")
    assert ">anonymous, peak<" in shown.html[1]
    assert descendants() <= before


def test_on_a_machine_that_lacks_meters_it_shows_the_others_and_says_which(
    run, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sampler, "choose", lambda: sampler.Portable)
    shown = run("%measure taken(size)")
    assert shown.value == 64 * MiB
    assert "resident (kinds not measured here)" in shown.alt
    assert re.search("anonymous, peak</t[dh]><td[^>]*>not measured here<", shown.html[1])
