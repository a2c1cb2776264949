"""Lines over a number: a line for each of several things, and a dashed line to compare with."""

import math
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullLocator

from .cells import Panel, y_axis
from .chart import Row, chart
from .figure import MARKS, PREDICTED, Picture, look
from .words import amount

LOG_FROM = 20  # so many times as high as another line: a scale from 0 would press that one flat
MOST_TICKS = 12
STROKE = {"linewidth": 1.3, "markersize": 4.5}
FREE = 0.1  # of the panel's height, above the highest value


@look()
def lines(
    by: str,
    results: Mapping[str, Mapping[float, float]],
    unit: str,
    title: str,
    level: tuple[str, float] | None = None,
    caption: str = "",
    *,
    by_unit: str = "",
    at: tuple[str, float] | None = None,
) -> Picture:
    """`results`: name -> number -> value. `by` says what the number is; "chunk size" and other
    sizes are in bytes.

    lines("workers", {"Tokio 1.43": {1: 68_240, 8: 138_843}}, "bytes", "bytes held", ("published",
    172_952)) lines("chunk size", {"plain loop": {4096: 0.4, 65536: 0.1}}, "seconds", "time for 1
    GiB")

    `unit` and `by_unit` are units as in `words.amount`. `level` is a name and a value, a dashed
    line across; `at` a name and a number, a dashed line upright. Sizes stand on an axis of powers
    of two. So do more than 12 numbers, and then only powers of two are marked and told. ValueError
    unless 1 to 4 lines have two points or more, all above 0.
    """
    values = [value for line in results.values() for value in line.values()]
    if (
        not 1 <= len(results) <= len(MARKS)
        or min(map(len, results.values())) < 2
        or min(values) <= 0
    ):
        points = {name: len(line) for name, line in results.items()}
        raise ValueError(
            f"take 1 to {len(MARKS)} lines of two points or more, above 0; these have: {points}"
        )
    by_unit = by_unit or ("bytes" if by.endswith("size") else "count")
    numbers = sorted({number for line in results.values() for number in line})
    if len(numbers) > MOST_TICKS:
        numbers = [number for number in numbers if math.log2(number).is_integer()]
    keys = []
    words = []
    dashed = []
    for (name, line), (marker, color) in zip(results.items(), MARKS, strict=False):
        keys.append(Line2D([], [], label=name, marker=marker, color=color, **STROKE))
        marked = [number for number in numbers if number in line]
        parts = [f"{_exact(line[number], unit)} at {amount(number, by_unit)}" for number in marked]
        words.append((name, parts))
    if level:
        dashed.append((level[0], _exact(level[1], unit)))
    if at:
        dashed.append((at[0], amount(at[1], by_unit)))
    for name, told in dashed:
        keys.append(Line2D([], [], label=f"{name}: {told}", **PREDICTED))
        words.append((f"Dashed, {name}", [told]))

    def plot(ax: Axes) -> None:
        ax.set_xlabel(by, labelpad=2)
        if by_unit == "bytes" or max(map(len, results.values())) > MOST_TICKS:
            ax.set_xscale("log", base=2)
            ax.xaxis.set_minor_locator(NullLocator())
        ax.set_xticks(numbers, [amount(number, by_unit) for number in numbers])
        _scale(ax, [*results.values(), *([{0: level[1]}] if level else [])], unit)
        for line, (marker, color) in zip(results.values(), MARKS, strict=False):
            marked = {number: line[number] for number in numbers if number in line}
            ax.plot(*zip(*sorted(line.items()), strict=True), color=color, clip_on=False, **STROKE)
            ax.plot(
                *zip(*marked.items(), strict=True), marker, color=color, clip_on=False, **STROKE
            )
        if level:
            ax.axhline(level[1], **PREDICTED)
        if at:
            ax.axvline(at[1], **PREDICTED)

    row = Row("", [Panel(title, plot, high=180)])
    return chart(f"{title}, by {by}", [row], caption, words, keys=keys)


def _scale(ax: Axes, results: Sequence[Mapping[float, float]], unit: str) -> None:
    """From 0; logarithmic if a line would be pressed flat."""
    highest = [max(line.values()) for line in results]
    high = max(highest)
    low = min(min(line.values()) for line in results) / 1.5
    y_axis(ax, unit, high, high / (1 - FREE))
    if high > LOG_FROM * min(highest):
        ax.set_yscale("log")
        ax.set_ylim(low, low * (high / low) ** (1 / (1 - FREE)))
        ax.yaxis.set_major_locator(LogLocator())
        ax.yaxis.set_minor_locator(NullLocator())


def _exact(value: float, unit: str) -> str:
    """A count of bytes as the lessons' text quotes it."""
    return f"{value:,.0f} bytes" if unit == "bytes" else amount(value, unit)
