"""The charts of the class report: how a class did, and what it predicted beside what was measured.

As in every figure, predictions are dashed outlines, and measurements are solid.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from ..show.boxes import shortened, wrapped
from ..show.figure import GRID, INK, PAGE, PREDICTED, QUIET, Kind, Picture, legend, look, paint, picture
from ..units import digits, in_unit

# From dark to light, to tell them apart in grey too; the hatches aren't those of memory.
OUTCOMES = tuple(
    Kind(*kind)
    for kind in (
        ("right", "#2c6e49", "#2c6e49", None),
        ("half right", "#9cc3a5", "#2c6e49", "||"),
        ("not yet", "#e3c567", "#8a6a00", "\\\\\\\\"),
        ("not attempted", "#dedede", "#8a8a8a", "oo"),
        ("not graded", "#ffffff", "#565656", "xxx"),
        ("missing", "#ffffff", "#565656", None),
    )
)
LEGEND, BAR, HILL, GAP, LINE, LABEL, SCALE = 32, 20, 40, 14, 15, 200, 27  # pixels; LABEL is the widest, SCALE the axis
STEPS, FARTHEST = 32, 8  # in a histogram; times the largest median
MEASURED = {"color": INK, "linewidth": 2.4}


def outcomes(rows: Mapping[str, Mapping[str, int]], caption: str = "") -> Picture:
    """One bar per row: how many students have each outcome of OUTCOMES. ValueError if there's nothing to show, or for
    an unknown outcome."""
    words = [kind.word for kind in OUTCOMES]
    for name, counts in rows.items():
        if unknown := [word for word in counts if word not in words]:
            raise ValueError(f"{name!r} counts {unknown[0]!r}; the outcomes are: {', '.join(words)}")
    shown = [kind for kind in OUTCOMES if any(counts.get(kind.word) for counts in rows.values())]
    styles = {kind.word: {"linewidth": 0.8, **paint(kind)} for kind in shown}
    ends = [f"{counts.get('right', 0)} of {sum(counts.values())}" for counts in rows.values()]
    texts = []
    for name, counts in rows.items():
        parts = [f"{counts[kind.word]} {kind.word}" for kind in shown if counts.get(kind.word)]
        texts.append(f"{name}: {', '.join(parts) or 'nobody'}")
    with look():
        fig, _ = _bars(rows, styles, ends)
        return picture(fig, f"One bar per row, students by outcome. {'. '.join(texts)}.", caption)


def votes(
    counts: Mapping[str, int],
    measured: str | None = None,
    caption: str = "",
    words: tuple[str, str] = ("predicted", "measured"),
) -> Picture:
    """One bar per answer: how many chose it. `measured` is the answer that came out; `words` say what was done, by
    those who answered and then."""
    answered, came_out = words
    total = sum(counts.values())
    ends = [
        f"{count} ({100 * count / max(total, 1):.0f} %){f'  {came_out}' if name == measured else ''}"
        for name, count in counts.items()
    ]
    with look():
        by = f"{answered} by {total}"
        fig, ax = _bars({name: {by: count} for name, count in counts.items()}, {by: {"fill": False, **PREDICTED}}, ends)
        for row, (name, label) in enumerate(zip(counts, ax.get_yticklabels(), strict=True)):
            is_measured = name == measured
            label.set_weight("bold" if is_measured else "normal")
            ax.plot((0, 0), (row - 0.4, row + 0.4), **(MEASURED if is_measured else {"color": GRID, "linewidth": 1.2}))
        texts = ", ".join(f"{name}: {count}" for name, count in counts.items())
        alt = f"{by.capitalize()}. {texts}.{f' {came_out.capitalize()}: {measured}.' if measured else ''}"
        return picture(fig, alt, caption)


def spread(
    answers: Mapping[str, Sequence[float]],
    unit: str = "",
    measured: Mapping[str, float] | None = None,
    caption: str = "",
) -> Picture:
    """For each name, a histogram of the predicted numbers (0 and up), their median, and the number `measured`.

    The axis reaches the measured number and the largest prediction that isn't an outlier (Tukey's fence: 1.5 times the
    middle half above it), but at most FARTHEST times the largest median. The text says how many predictions lie beyond.
    ValueError if there's nothing to show.
    """
    if not answers or not all(len(numbers) for numbers in answers.values()):
        raise ValueError("nothing to show: pass at least one number for each name")
    measured = {name: value for name, value in (measured or {}).items() if name in answers}
    with look():
        return picture(_histograms(answers, unit, measured), _spread_alt(answers, unit, measured), caption)


def _rows(labels: Iterable[str], tall: float, foot: float = 0) -> tuple[Figure, Axes, float]:
    """A figure below its legend, with a row for each label, counted from the top; and the part of a row that is `tall`
    pixels high."""
    lines = [wrapped(shortened(label, 3 * LABEL), LABEL) for label in labels]
    row = max([tall, *(LINE * len(label) for label in lines)]) + GAP
    height = LEGEND + foot + row * len(lines)
    fig = Figure(figsize=(PAGE, height / 96))
    fig.set_layout_engine("constrained", rect=(0, 0, 1, 1 - LEGEND / height))
    ax = fig.add_subplot()
    ax.set_yticks(range(len(lines)), ["\n".join(label) for label in lines], color=INK)
    ax.set_ylim(len(lines) - 0.5, -0.5)
    ax.spines[:].set_visible(False)
    ax.grid(False)
    return fig, ax, tall / row


def _bars(
    rows: Mapping[str, Mapping[str, int]], styles: Mapping[str, Mapping[str, Any]], ends: Sequence[str]
) -> tuple[Figure, Axes]:
    """One stacked bar per row, with a part for each of `styles` and the text of `ends` after it."""
    most = max((sum(counts.values()) for counts in rows.values()), default=0)
    if not most:
        raise ValueError("nothing to show: pass at least one row with a count above 0")
    fig, ax, tall = _rows(rows, BAR)
    ax.set_xticks([])
    ax.set_xlim(0, most)
    left = np.zeros(len(rows))
    for word, style in styles.items():
        counts = np.array([row.get(word, 0) for row in rows.values()])
        bars = ax.barh(range(len(rows)), counts, tall, left, clip_on=False, **style)
        if len(styles) > 1:
            texts = [str(count) if count > most / 25 else "" for count in counts]
            box = {"facecolor": bars.patches[0].get_facecolor(), "edgecolor": "none", "pad": 1.5}
            ax.bar_label(bars, texts, label_type="center", color="white" if word == "right" else INK, bbox=box)
        left += counts
    for row, (end, text) in enumerate(zip(left, ends, strict=True)):
        ax.annotate(text, (end, row), (8, 0), textcoords="offset pixels", va="center", color=QUIET)
    legend(fig, *(Patch(label=word, **style) for word, style in styles.items()))
    return fig, ax


def _histograms(answers: Mapping[str, Sequence[float]], unit: str, measured: Mapping[str, float]) -> Figure:
    top, step = _axis([*answers.values()], [*measured.values()])
    fig, ax, tall = _rows(answers, HILL, SCALE)
    ax.set_xlim(-step / 2, top + step / 2)
    ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    ax.xaxis.set_major_formatter(lambda tick, _: digits(tick))
    ax.grid(axis="x")
    for row, (name, numbers) in enumerate(answers.items()):
        ground = row + tall / 2
        ax.axhline(ground, color="#9a9a9a", linewidth=0.7)
        counts, edges = np.histogram(numbers, round(top / step) + 1, (-step / 2, top + step / 2))
        hills = np.where(counts, ground - tall * counts / max(1, counts.max()), np.nan)
        ax.stairs(hills, edges, baseline=ground, clip_on=False, **PREDICTED)
        if (median := float(np.median(numbers))) <= top:
            ax.plot(median, ground + tall / 8, clip_on=False, marker="^", markersize=5.5, color=INK)
        if name in measured:
            ax.plot((measured[name],) * 2, (ground - 1.1 * tall, ground), solid_capstyle="butt", **MEASURED)
        lines = [f"median {in_unit(median, unit)}"]
        lines += [f"measured {in_unit(measured[name], unit)}"] if name in measured else []
        beyond = sum(number > top for number in numbers)
        lines += [f"{beyond} beyond the axis"] if beyond else []
        ax.text(1.02, row, "\n".join(lines), transform=ax.get_yaxis_transform(), va="center", linespacing=1.35)
    keys = [
        Patch(fill=False, label=f"predicted by {max(map(len, answers.values()))}", **PREDICTED),
        Line2D([], [], linestyle="none", marker="^", markersize=5.5, color=INK, label="their median"),
        Line2D([], [], label="measured", **MEASURED),
    ]
    legend(fig, *keys[: 3 if measured else 2])
    return fig


def _axis(answers: Sequence[Sequence[float]], measured: Sequence[float]) -> tuple[float, float]:
    """Where the axis ends, and the width of a step: 1 if all numbers are whole and few."""
    ends, middles = list(measured), list(measured)
    for numbers in answers:
        low, middle, high = np.quantile(numbers, (0.25, 0.5, 0.75))
        ends.append(max(number for number in numbers if number <= high + 1.5 * (high - low)))
        middles.append(middle)
    top = min(max(ends), FARTHEST * max(middles)) or max(ends) or 1.0
    whole = all(number == round(number) for numbers in (*answers, measured) for number in numbers)
    return (float(round(top)), 1.0) if whole and 1 <= top <= STEPS else (top, top / STEPS)


def _spread_alt(answers: Mapping[str, Sequence[float]], unit: str, measured: Mapping[str, float]) -> str:
    texts = []
    for name, numbers in answers.items():
        low, middle, high = (digits(float(np.quantile(numbers, part))) for part in (0.25, 0.5, 0.75))
        came = f"; measured {digits(measured[name])}" if name in measured else ""
        named = f"{name}: " if name else ""
        texts.append(f"{named}{len(numbers)} predictions, median {middle}, half of them from {low} to {high}{came}")
    return f"The spread of predictions{f' in {unit}' if unit else ''}. {'. '.join(texts)}."
