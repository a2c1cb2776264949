"""What a class predicted, beside what was measured: the spread of numbers, or how many chose each answer.

As in every figure, predictions are dashed outlines, and measurements are solid.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import MaxNLocator

from ..show.boxes import LINE, WIDE, sheet, shortened
from ..show.figure import GRID, INK, PREDICTED, QUIET, Picture, legend, look, picture
from ..show.fitting import width, wrapped
from ..units import digits, in_unit

KEYS, SCALE, TALL, GAP, LABEL = 32, 27, 34, 16, 150  # the page's pixels: legend, axis, a heap, between heaps, a label
BAR, APART = 18, 10
STEPS, FAR = 32, 8
MEASURED = {"color": INK, "linewidth": 2.4}


def spread(
    answers: Mapping[str, Sequence[float]],
    unit: str = "",
    measured: Mapping[str, float] | None = None,
    caption: str = "",
) -> Picture:
    """For each name, a heap of the predicted numbers (0 and up), their median, and the number `measured`.

    The axis reaches the measured number and the largest prediction that isn't an outlier (Tukey's fence: 1.5 times the
    middle half above it), but at most FAR times the largest median. The text says how many predictions lie beyond.
    ValueError if there's nothing to show.
    """
    if not answers or not all(len(numbers) for numbers in answers.values()):
        raise ValueError("nothing to show: pass at least one number for each name")
    measured = {name: value for name, value in (measured or {}).items() if name in answers}
    with look():
        return picture(_heaps(answers, unit, measured), _spread_alt(answers, unit, measured), caption)


def votes(
    counts: Mapping[str, int],
    measured: str | None = None,
    caption: str = "",
    words: tuple[str, str] = ("predicted", "measured"),
) -> Picture:
    """One bar per answer: how many chose it. `measured` is the answer that came out; `words` say what was done, by
    those who answered and then."""
    if not any(counts.values()):
        raise ValueError("nothing to show: pass at least one answer with a count above 0")
    with look():
        return picture(_bars(counts, measured, words), _votes_alt(counts, measured, words), caption)


# --- numbers --------------------------------------------------------------------------------------------------
def _heaps(answers: Mapping[str, Sequence[float]], unit: str, measured: Mapping[str, float]) -> Figure:
    top, step = _axis([*answers.values()], [*measured.values()])
    said = {name: _said(numbers, unit, measured.get(name), top) for name, numbers in answers.items()}
    labels = {name: wrapped(name, LABEL) if name else [] for name in answers}
    left = 14 + max((width(line) for lines in labels.values() for line in lines), default=0)
    across = WIDE - left - 26 - max(width(line) for lines in said.values() for line in lines)
    foot = KEYS + len(answers) * (TALL + GAP) - GAP
    fig, ax = sheet(foot + SCALE)

    def x(value: float) -> float:
        return left + (value + step / 2) / (top + step) * across

    for tick in MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(0, top):
        if tick <= top:
            ax.plot((x(tick),) * 2, (KEYS, foot + 4), color=GRID, linewidth=0.6, zorder=0)
            ax.text(x(tick), foot + 12, digits(tick), ha="center", va="top", color=QUIET, fontsize=8)
    for i, (name, numbers) in enumerate(answers.items()):
        ground = KEYS + i * (TALL + GAP) + TALL
        ax.text(left - 8, ground - TALL / 2, "\n".join(labels[name]), ha="right", va="center", linespacing=1.25)
        ax.text(left + across + 18, ground - TALL / 2, "\n".join(said[name]), va="center", linespacing=1.35)
        ax.plot((left, left + across), (ground, ground), color="#9a9a9a", linewidth=0.7)
        counts, edges = np.histogram(numbers, round(top / step) + 1, (-step / 2, top + step / 2))
        for outline in _outlines(counts, [x(edge) for edge in edges], ground):
            ax.plot(*outline, **PREDICTED)
        if (median := float(np.median(numbers))) <= top:
            ax.plot(x(median), ground + 5, marker="^", markersize=5.5, color=INK)
        if name in measured:
            ax.plot((x(measured[name]),) * 2, (ground - TALL - 3, ground), solid_capstyle="butt", **MEASURED)
    keys = [
        Patch(fill=False, label=f"predicted by {max(map(len, answers.values()))}", **PREDICTED),
        Line2D([], [], linestyle="none", marker="^", markersize=5.5, color=INK, label="their median"),
        Line2D([], [], label="measured", **MEASURED),
    ]
    legend(fig, *keys[: 3 if measured else 2])
    return fig


def _axis(answers: Sequence[Sequence[float]], measured: Sequence[float]) -> tuple[float, float]:
    """Where the axis ends, and the width of a heap's steps: 1 if all numbers are whole and few."""
    ends, middles = list(measured), list(measured)
    for numbers in answers:
        low, middle, high = np.quantile(numbers, (0.25, 0.5, 0.75))
        ends.append(max(number for number in numbers if number <= high + 1.5 * (high - low)))
        middles.append(middle)
    top = min(max(ends), FAR * max(middles)) or max(ends) or 1.0
    whole = all(number == round(number) for numbers in (*answers, measured) for number in numbers)
    return (float(round(top)), 1.0) if whole and 1 <= top <= STEPS else (top, top / STEPS)


def _outlines(counts: np.ndarray, edges: Sequence[float], ground: float) -> Iterator[tuple[list[float], list[float]]]:
    """The outline of each separate heap: up from the ground, along its steps, and down again."""
    high = TALL / max(1, counts.max())
    across, up = [], []
    for i, count in enumerate(counts):
        if count:
            across, up = across or [edges[i]], up or [ground]
            across += [edges[i], edges[i + 1]]
            up += [ground - count * high] * 2
        if up and (not count or i == len(counts) - 1):
            yield [*across, across[-1]], [*up, ground]
            across, up = [], []


def _said(numbers: Sequence[float], unit: str, measured: float | None, top: float) -> list[str]:
    lines = [f"median {in_unit(float(np.median(numbers)), unit)}"]
    if measured is not None:
        lines.append(f"measured {in_unit(measured, unit)}")
    beyond = sum(number > top for number in numbers)
    return [*lines, f"{beyond} beyond the axis"] if beyond else lines


def _spread_alt(answers: Mapping[str, Sequence[float]], unit: str, measured: Mapping[str, float]) -> str:
    told = []
    for name, numbers in answers.items():
        low, middle, high = (digits(float(np.quantile(numbers, part))) for part in (0.25, 0.5, 0.75))
        came = f"; measured {digits(measured[name])}" if name in measured else ""
        named = f"{name}: " if name else ""
        told.append(f"{named}{len(numbers)} predictions, median {middle}, half of them from {low} to {high}{came}")
    return f"The spread of predictions{f' in {unit}' if unit else ''}. {'. '.join(told)}."


# --- answers in words -----------------------------------------------------------------------------------------
def _bars(counts: Mapping[str, int], measured: str | None, words: tuple[str, str]) -> Figure:
    all_of_them = sum(counts.values())
    said = {name: f"{count} ({100 * count / all_of_them:.0f} %)" for name, count in counts.items()}
    labels = {name: wrapped(shortened(name, 4 * LABEL, bold=True), LABEL + 50, bold=True) for name in counts}
    left = 14 + max(width(line, bold=True) for lines in labels.values() for line in lines)
    asked, marked = words
    across = WIDE - left - 30 - max(map(width, said.values())) - width(marked, bold=True) - 14
    talls = {name: max(BAR, LINE * len(lines)) + APART for name, lines in labels.items()}
    fig, ax = sheet(KEYS + sum(talls.values()))
    top, each = KEYS, across / max(counts.values())
    for name, count in counts.items():
        middle = top + (talls[name] - APART) / 2
        came = name == measured
        style = {"weight": "bold"} if came else {}
        ax.text(left - 8, middle, "\n".join(labels[name]), ha="right", va="center", linespacing=1.25, **style)
        if count:
            ax.add_patch(Rectangle((left, middle - BAR / 2), count * each, BAR, fill=False, **PREDICTED))
        ax.plot((left, left), (middle - BAR / 2 - 3, middle + BAR / 2 + 3), solid_capstyle="butt",
                **(MEASURED if came else {"color": GRID, "linewidth": 1.2}))  # fmt: skip
        ax.text(left + count * each + 8, middle, said[name], va="center")
        if came:
            ax.text(left + count * each + 18 + width(said[name]), middle, marked, va="center", weight="bold")
        top += talls[name]
    legend(fig, Patch(fill=False, label=f"{asked} by {all_of_them}", **PREDICTED))
    return fig


def _votes_alt(counts: Mapping[str, int], measured: str | None, words: tuple[str, str]) -> str:
    told = ", ".join(f"{name}: {count}" for name, count in counts.items())
    came = f" {words[1].capitalize()}: {measured}." if measured else ""
    return f"{words[0].capitalize()} by {sum(counts.values())}. {told}.{came}"
