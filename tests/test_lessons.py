"""Every lesson runs from top to bottom on a fresh kernel, within its time and its memory."""

import re
from collections.abc import Callable
from pathlib import Path

import nbformat
import psutil
import pytest
from nbformat import NotebookNode
from tables import cases

from helpers.folders import RECORDED
from helpers.measure import Comparison, Recording
from helpers.publish import executed, lessons
from helpers.teach.recorded import NEEDED, read
from helpers.units import GiB, in_words

# On two cores, at the lesson's default size: how long a class can wait, and what a small laptop
# has.
SECONDS = 60
BYTES = {"02": 2 * GiB}  # and 1 GiB for every other lesson

ELSEWHERE = cases("lessons")["elsewhere"]

SHOW_ERRORS = ("07-crashes", "10-cut", "10-probes", "10-writes-numpy")
CALL = re.compile(r'recorded\(\s*"([^"]+)"')

IN_MAKE_TEST = ("00", "07")  # the others are slow

each_lesson = pytest.mark.parametrize(
    "lesson",
    [
        pytest.param(
            path, id=path.stem, marks=[] if path.stem[:2] in IN_MAKE_TEST else pytest.mark.slow
        )
        for path in lessons()
    ],
)
pytestmark = pytest.mark.notebooks


@pytest.mark.measured
@each_lesson
def test_a_lesson_runs_within_its_budget(
    lesson: Path,
    run_lesson: Callable[[Path], NotebookNode],
    record_property: Callable[[str, str], None],
):
    notebook = run_lesson(lesson)
    memory = BYTES.get(lesson.stem[:2], GiB)
    wall = notebook.metadata.zero_copy.wall
    peak = notebook.metadata.zero_copy.peak
    # longer where more runs than the machine has cores for
    time = SECONDS * max(1, psutil.getloadavg()[0] / psutil.cpu_count())
    most = f"{in_words(peak, 'bytes')} of {in_words(memory, 'bytes')} anonymous memory"
    record_property(lesson.stem, f"{wall:.0f} s of {time:.0f}, {most}")
    ran = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in ran if cell.source.strip()), "a cell was not run"
    assert not [o for cell in ran for o in cell.outputs if o.output_type == "error"]
    assert wall <= time, f"{wall:.0f} s; {time:.0f} s are allowed"
    assert peak <= memory, f"{in_words(peak, 'bytes')}; {in_words(memory, 'bytes')} are allowed"


def recordings(lesson: Path) -> list[str]:
    return CALL.findall("".join(cell.source for cell in nbformat.read(lesson, 4).cells))


@pytest.mark.parametrize("lesson", lessons(), ids=lambda path: path.stem)
def test_a_lesson_has_its_recorded_runs(lesson: Path):
    """They have everything that a lesson can't do without, and come from runs that ended as
    intended.
    """
    assert recordings(lesson), "nothing to show where memory is not told apart"
    for name in recordings(lesson):
        made, machine = read(RECORDED / f"{name}.json")
        assert machine
        assert not NEEDED.keys() & set(made.missing)
        kept = (RECORDED / f"{name}.json").read_text()
        assert "Traceback" not in kept and not re.search('"/(?!dev/)', kept), (
            "it names files of that machine"
        )
        runs = (
            made.values()
            if isinstance(made, Comparison)
            else [made]
            if isinstance(made, Recording)
            else []
        )
        shows_errors = isinstance(made, Recording) or name in SHOW_ERRORS
        for run in runs:
            lacks = set(run.missing) - {"virtual"}  # a meter added after some runs were recorded
            limited = name == "02-half" and run.ended == "memory limit"
            stopped = (
                run.ended.startswith("SIG")
                or limited
                or (shows_errors and run.ended == "timed out")
            )
            meant = run.ended == "returned" or (shows_errors and run.ended == "raised")
            assert stopped or (meant and not lacks), "who is stopped doesn't report at the end"


@pytest.mark.slow
@pytest.mark.parametrize("lesson", lessons()[4::3], ids=lambda path: path.stem)
def test_a_lesson_goes_on_where_memory_is_not_told_apart(
    lesson: Path, tmp_path: Path, record_property: Callable[[str, str], None]
):
    """As on macOS and Windows: there are only the portable meters, so it shows recorded runs, and
    no traceback.
    """
    record_property("without /proc", lesson.stem)
    notebook = nbformat.read(lesson, as_version=4)
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    first.source += ELSEWHERE
    nbformat.write(notebook, tmp_path / lesson.name)
    ran = nbformat.read(executed(tmp_path / lesson.name, tmp_path / "executed"), as_version=4)
    shows = {cell.id for cell in ran.cells if cell.cell_type == "code" and CALL.search(cell.source)}
    told = {
        cell.id: "".join(output.get("text", "") for output in cell.get("outputs", ()))
        for cell in ran.cells
    }
    assert {id for id, text in told.items() if "Recorded figures, made on:" in text} == shows
