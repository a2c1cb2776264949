"""memory_profiler's output, and its picture. That it says what a run took, a claim of lesson 01
asserts.
"""

from pathlib import Path

import pytest
from pictures import panels, recording

from helpers.lessons.pages.profilers import curves_and_samples, line_increments, mprof_samples
from helpers.units import MiB


def test_a_line_that_frees_has_a_minus():
    assert line_increments("     7     26.5 MiB    -24.0 MiB           1       del block\n") == {
        "del block": -24 * MiB
    }


def test_what_is_not_of_memory_profiler_is_refused(tmp_path: Path):
    with pytest.raises(ValueError, match="no table of memory_profiler: 'hello'"):
        line_increments("hello")
    (samples := tmp_path / "out.dat").write_text("CMDLINE python\nMEM 10.0 100.0\n")
    with pytest.raises(ValueError, match=r"out\.dat has no line FUNC"):
        mprof_samples(samples)
    samples.write_text("MEM 10.0 100.0\nFUNC __main__.grow 10.0 101.0 11.0 102.0 0\n")
    with pytest.raises(ValueError, match="no sample between"):
        mprof_samples(samples)


@pytest.mark.parametrize(
    "rest", ["MEM 11.", "FUNC b 12.0", "FUNC b 12.0 5.0 13.0 6.0 0\nMEM 15.0 5.7\n"]
)
def test_only_whole_lines_of_the_first_call_are_read(tmp_path: Path, rest: str):
    (samples := tmp_path / "out.dat").write_text(
        f"FUNC a 10.0 1.0 11.0 2.0 0\nMEM 11.0 1.5\n{rest}"
    )
    assert mprof_samples(samples) == [(0.5, MiB)]


@pytest.mark.parametrize(("wall", "unit"), [(0.2, 1000), (20, 1)])
def test_samples_are_drawn_in_the_unit_of_the_curves(wall: float, unit: int):
    drawn = curves_and_samples(
        recording("read", 2, 1, wall=wall), [(0, 0), (2 * wall, 3 * MiB)], "a profiler"
    )
    (ax,) = panels(drawn)
    assert ax.get_lines()[-1].get_xdata()[1] == pytest.approx(2 * wall * unit)
    assert ax.get_xlim()[1] >= 2 * wall * unit
    assert (
        "Dots, a profiler: 2 samples, 3 MiB at their peak; all kinds add up to 3 MiB" in drawn.alt
    )
