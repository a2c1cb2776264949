"""What memory_profiler wrote, as numbers in bytes: the samples of `mprof run`, and the table of `@profile`."""

import os
import re
from pathlib import Path

from ...units import MiB


def mprof_samples(path: str | os.PathLike[str]) -> list[tuple[float, int]]:
    """The samples that `mprof run` took during the first function marked with @profile: seconds since the call began,
    and bytes of resident memory beyond those at the beginning. As mprof plots them, but for the zero point.

    ValueError if the file has no sample, or no such function. The form is that of memory_profiler 0.61: lines
    `MEM MiB time` for each sample and `FUNC name MiB time MiB time` for each call. A line that was cut off is left out.
    """
    text = Path(path).read_text(encoding="utf-8")
    lines = [line.split() for line in text[: text.rfind("\n") + 1].splitlines()]
    calls = [[float(number) for number in line[2:6]] for line in lines if line[:1] == ["FUNC"] and len(line) > 5]
    if not calls:
        raise ValueError(f"{Path(path).name} has no line FUNC: no function marked with @profile was called")
    least, began, _, ended = calls[0]
    samples = [line[1:] for line in lines if line[:1] == ["MEM"] and len(line) == 3]
    growth = [(float(when) - began, float(mem) - least) for mem, when in samples]
    during = [(round(when, 3), round(MiB * grown)) for when, grown in growth if 0 <= when <= ended - began]
    if not during:
        raise ValueError(f"{Path(path).name} has no sample between the call's beginning and its end")
    return during


def line_increments(report: str) -> dict[str, int]:
    """The column Increment of memory_profiler's table: source line -> bytes, for the lines that ran.

    ValueError if there's no such table.
    """
    rows = re.findall(r"^ *\d+ +[-\d.]+ MiB +([-\d.]+) MiB +\d+ +(.*)$", report, re.MULTILINE)
    if not rows:
        raise ValueError(f"this is no table of memory_profiler: {report[:60]!r}")
    return {line.strip(): round(float(grown) * MiB) for grown, line in rows}
