"""Lines over a number: a line for each of several things, and a dashed line to compare with."""

import math
from collections.abc import Mapping

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator, MultipleLocator, NullLocator

from .figure import MARKS, PAGE, PREDICTED, Picture, legend, look, picture
from .words import alt_text, amount

LOG_FROM = 20  # so many times as high as another line: a scale from 0 would press that one flat
MOST_TICKS = 12
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
    fig = Figure(figsize=(PAGE, 2.9))
    ax = fig.add_axes((0.095, 0.155, 0.88, 0.645))
    ax.set(title=title, xlabel=by)
    if by_unit == "bytes" or max(map(len, results.values())) > MOST_TICKS:
        ax.set_xscale("log", base=2)
        ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xticks(numbers, [amount(number, by_unit) for number in numbers])
    highest = [max(line.values()) for line in results.values()] + ([level[1]] if level else [])
    high = max(highest)
    low = min(values) / 1.5
    if high > LOG_FROM * min(highest):
        ax.set_yscale("log")
        ax.set_ylim(low, low * (high / low) ** (1 / (1 - FREE)))
        ax.yaxis.set_major_locator(LogLocator())
        ax.yaxis.set_minor_locator(NullLocator())
    else:
        ax.set_ylim(0, high / (1 - FREE))
        binary = MultipleLocator(2 ** math.ceil(math.log2(high / 8)))
        ax.yaxis.set_major_locator(binary if unit == "bytes" else MaxNLocator(5))
    ax.yaxis.set_major_formatter(lambda value, _: amount(value, unit))
    keys, rows = [], {}
    for (name, line), (marker, color) in zip(results.items(), MARKS, strict=False):
        marked = {number: line[number] for number in numbers if number in line}
        style = {"color": color, "linewidth": 1.3, "markersize": 4.5, "clip_on": False}
        ax.plot(*zip(*sorted(line.items()), strict=True), **style)
        ax.plot(marked.keys(), marked.values(), marker, **style)
        keys.append(Line2D([], [], label=name, marker=marker, **style))
        rows[name] = [
            f"{_exact(value, unit)} at {amount(number, by_unit)}"
            for number, value in marked.items()
        ]
    dashed = [(ax.axhline, *level, _exact(level[1], unit))] if level else []
    dashed += [(ax.axvline, *at, amount(at[1], by_unit))] if at else []
    for draw, name, place, words in dashed:
        draw(place, **PREDICTED)
        keys.append(Line2D([], [], label=f"{name}: {words}", **PREDICTED))
        rows[f"Dashed, {name}"] = [words]
    legend(fig, *keys)
    return picture(fig, alt_text(f"{title}, by {by}", rows), caption)


def _exact(value: float, unit: str) -> str:
    """A count of bytes as the lessons' text quotes it."""
    return f"{value:,.0f} bytes" if unit == "bytes" else amount(value, unit)
