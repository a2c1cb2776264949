"""One figure of several things, by a number: a line for each thing, and a dashed level to compare with."""

import math
from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MultipleLocator, NullLocator

from ...show.figure import FAR, MARKS, PAGE, PREDICTED, Picture, legend, look, picture, vertical
from ...units import in_words

Lines = Mapping[str, Mapping[float, float]]


def lines(
    by: str, results: Lines, unit: str, title: str, level: tuple[str, float] | None = None, caption: str = ""
) -> Picture:
    """`results`: name -> number -> value. `by` says what the number is; "chunk size" and other sizes are in bytes.

    lines("workers", {"Tokio 1.43": {1: 68_240, 8: 138_843}}, "bytes", "bytes held", ("published", 172_952))
    lines("chunk size", {"plain loop": {4096: 0.4, 65536: 0.1}}, "seconds", "time for 1 GiB")

    `unit`: "bytes", "count" or "seconds". `level` is a name and a value: a dashed line across. Sizes stand on an axis
    of powers of two, and values on a logarithmic one if the highest is more than FAR times the lowest.
    ValueError unless there are 1 to 4 lines of two points or more, all above 0.
    """
    values = [value for line in results.values() for value in line.values()]
    if not 1 <= len(results) <= len(MARKS) or min(map(len, results.values())) < 2 or min(values) <= 0:
        short = {name: len(line) for name, line in results.items()}
        raise ValueError(f"take 1 to {len(MARKS)} lines of two points or more, above 0; these have: {short}")
    sizes = by.endswith("size")
    with look():
        fig = Figure(figsize=(PAGE, 2.9))
        ax = fig.add_axes((0.095, 0.155, 0.88, 0.645))
        ax.set(title=title, xlabel=by)
        _scale(ax, sorted({number for line in results.values() for number in line}), sizes)
        values += [level[1]] if level else []
        vertical(ax, values, far := max(values) > FAR * min(values), above=0.1)
        if unit == "bytes" and not far:
            ax.yaxis.set_major_locator(MultipleLocator(2 ** math.ceil(math.log2(max(values) / 8))))
        ax.yaxis.set_major_formatter(lambda value, _: in_words(value, unit))
        keys = []
        for (name, line), (marker, color, dashes) in zip(results.items(), MARKS, strict=False):
            style = {"marker": marker, "color": color, "linestyle": dashes, "linewidth": 1.3, "markersize": 4.5}
            ax.plot(*zip(*sorted(line.items()), strict=True), clip_on=False, **style)
            keys.append(Line2D([], [], label=name, **style))
        if level:
            ax.axhline(level[1], **PREDICTED)
            keys.append(Line2D([], [], label=f"{level[0]}: {_words(level[1], unit)}", **PREDICTED))
        legend(fig, *keys)
        told = [f"{name}: {_told(line, unit, sizes)}." for name, line in results.items()]
        told += [f"Dashed, {level[0]}: {_words(level[1], unit)}."] if level else []
        return picture(fig, f"{title}, by {by}. {' '.join(told)}", caption)


def _scale(ax: Axes, numbers: list[float], sizes: bool) -> None:
    if sizes:
        ax.set_xscale("log", base=2)
        ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xticks(numbers, [_number(number, sizes) for number in numbers])


def _number(number: float, sizes: bool) -> str:
    return in_words(number, "bytes" if sizes else "count")


def _words(value: float, unit: str) -> str:
    """Exact where it's a count of bytes that a text quotes."""
    return f"{value:,.0f} bytes" if unit == "bytes" else in_words(value, unit)


def _told(line: Mapping[float, float], unit: str, sizes: bool) -> str:
    return ", ".join(f"{_words(value, unit)} at {_number(number, sizes)}" for number, value in sorted(line.items()))
