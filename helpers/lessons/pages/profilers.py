"""What memory_profiler says: samples of `mprof run`, the table of `@profile`; and the samples
beside our own curves.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from ...measure import Recording
from ...show.chart import legend
from ...show.curves import curves
from ...show.figure import INK, Picture, look, picture
from ...units import MiB, in_words


def mprof_samples(path: str | os.PathLike[str]) -> list[tuple[float, int]]:
    """The samples that `mprof run` took during the first function marked with @profile: seconds
    since the call began, and bytes of resident memory beyond those at the beginning. ValueError if
    the file has none. The form is that of memory_profiler 0.61: lines `MEM MiB time` for each
    sample and `FUNC name MiB time MiB time` for each call. A line that was cut off is left out.
    """
    text = Path(path).read_text(encoding="utf-8")
    lines = [line.split() for line in text[: text.rfind("\n") + 1].splitlines()]
    calls = [
        [float(number) for number in line[2:6]]
        for line in lines
        if line[:1] == ["FUNC"] and len(line) > 5
    ]
    if not calls:
        raise ValueError(
            f"{Path(path).name} has no line FUNC: no function marked with @profile was called"
        )
    least, began, _, ended = calls[0]
    samples = [line[1:] for line in lines if line[:1] == ["MEM"] and len(line) == 3]
    growth = [(float(when) - began, float(mem) - least) for mem, when in samples]
    during = [
        (round(when, 3), round(MiB * grown)) for when, grown in growth if 0 <= when <= ended - began
    ]
    if not during:
        raise ValueError(
            f"{Path(path).name} has no sample between the call's beginning and its end"
        )
    return during


def line_increments(report: str) -> dict[str, int]:
    """The column Increment of memory_profiler's table: source line -> bytes. ValueError if there's
    no such table.
    """
    rows = re.findall(r"^ *\d+ +[-\d.]+ MiB +([-\d.]+) MiB +\d+ +(.*)$", report, re.MULTILINE)
    if not rows:
        raise ValueError(f"this is no table of memory_profiler: {report[:60]!r}")
    return {line.strip(): round(float(grown) * MiB) for grown, line in rows}


def curves_and_samples(
    run: Recording, samples: Sequence[tuple[float, int]], who: str, caption: str = ""
) -> Picture:
    """`curves(run)`, with dots for the samples that another profiler, `who`, took of another run of
    the same function: seconds since the call, and bytes of growth.
    """
    drawn = curves(run, caption=caption)
    seconds, grown = zip(*samples, strict=True)
    ax = drawn.figure.axes[-1]
    factor = 1000 if ax.get_xlabel() == "time, ms" else 1
    with look():
        how = {"color": INK, "markerfacecolor": "white", "markersize": 3.2, "markeredgewidth": 0.8}
        times = [factor * at for at in seconds]
        (dots,) = ax.plot(times, grown, "o", clip_on=False, label=who, **how)
        ax.set_xlim(0, max(ax.get_xlim()[1], *times))
        legend(drawn.figure, [*drawn.figure.legends.pop().legend_handles, dots])
    most = in_words(max(grown), "bytes")
    summed = in_words(run.peak.resident, "bytes")
    alt = (
        f"{drawn.alt} Dots, {who}: {len(samples)} samples, {most} at their peak; all kinds add up "
        f"to {summed}."
    )
    return picture(drawn.figure, alt, drawn.caption)
