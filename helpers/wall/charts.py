"""The charts of the class report: how a class did, and what it predicted, beside what was measured.
They name nobody. As in every figure, predictions are dashed outlines, and measurements are solid.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from ..show.boxes import shortened, wrapped
from ..show.figure import (
    GRID,
    INK,
    PAGE,
    PREDICTED,
    QUIET,
    Kind,
    Picture,
    legend,
    look,
    paint,
    picture,
)
from ..units import digits, in_unit
from .questions import Question
from .spread import MIN_ANSWERS

# From dark to light, to tell them apart in grey too; the hatches aren't those of memory.
OUTCOMES = (
    Kind("right", "#2c6e49", "#2c6e49", None),
    Kind("half right", "#9cc3a5", "#2c6e49", "||"),
    Kind("not yet", "#e3c567", "#8a6a00", "\\\\\\\\"),
    Kind("not attempted", "#dedede", "#8a8a8a", "oo"),
    Kind("not graded", "#ffffff", "#565656", "xxx"),
    Kind("missing", "#ffffff", "#565656", None),
)
# pixels; LABEL is the widest, SCALE the axis
LEGEND, BAR, HILL, GAP, LINE, LABEL, SCALE = (32, 20, 40, 14, 15, 200, 27)
STEPS, FARTHEST = 32, 8  # in a histogram; times the largest median
MEASURED = {"color": INK, "linewidth": 2.4}
AGAIN = {"facecolor": "#d9d5cc", "edgecolor": "#8a8378", "linewidth": 0.8}  # a second vote
MOST_CHOICES = 8
LARGEST_NUMBER = (
    1e18  # larger numbers count as this number: a whole number in JSON may have a thousand digits
)
SMALLEST_NUMBER = 1e-18  # smaller numbers count as 0: a step of the axis must not


def outcomes(rows: Mapping[str, Mapping[str, int]]) -> Picture:
    """One bar per row: how many students have each outcome of OUTCOMES."""
    shown = [kind for kind in OUTCOMES if any(counts.get(kind.word) for counts in rows.values())]
    ends = [f"{counts.get('right', 0)} of {sum(counts.values())}" for counts in rows.values()]
    counted = {
        name: [f"{n[kind.word]} {kind.word}" for kind in shown if n.get(kind.word)]
        for name, n in rows.items()
    }
    texts = [f"{name}: {', '.join(parts)}" for name, parts in counted.items()]
    with look():
        fig, _ = _bars(
            [*rows.items()], {kind.word: {"linewidth": 0.8, **paint(kind)} for kind in shown}, ends
        )
        return picture(fig, f"One bar per row, students by outcome. {'. '.join(texts)}.")


def chart(question: Question, *votes: Sequence[Any], caption: str = "") -> Picture | None:
    """The answers of one vote, or of a first and a second, without a vote of fewer than
    MIN_ANSWERS. None for no vote. An answer of None is none.
    """
    given = ([answer for answer in vote if answer is not None] for vote in votes)
    enough = [vote for vote in given if len(vote) >= MIN_ANSWERS]
    draw = _numbers if question.kind in ("number", "numbers") else _votes
    with look():
        return draw(question, enough, caption) if enough else None


def _votes(question: Question, votes: Sequence[Sequence[Any]], caption: str) -> Picture | None:
    """One bar per answer, or per whole order, for each vote: how many chose it, and which came out.
    What the lesson doesn't offer is only counted.
    """
    chosen = [
        Counter(filter(None, (_chosen(question, answer) for answer in answers)))
        for answers in votes
    ]
    measured = _chosen(question, question.measured)
    total = chosen[0].total()
    if total < MIN_ANSWERS:
        return None
    if question.kind in ("choice", "quiz") and question.names:
        names = list(question.names)
    else:
        commonest = sum(chosen, Counter()).most_common(MOST_CHOICES)
        names = [name for name, count in commonest if question.names or count >= MIN_ANSWERS]
    if measured and measured not in names:
        names.append(measured)
    counts = {name: [one[name] for one in chosen] for name in names}
    others = [one.total() - sum(one[name] for name in names) for one in chosen]
    if any(others):
        counts["something else"] = others
    answered, came_out = (
        ("answered", "right") if question.kind == "quiz" else ("predicted", "measured")
    )
    by = f"{answered} by {total}"
    ends = []
    for one, of in zip(chosen, zip(*counts.values(), strict=True), strict=True):
        ends.append([f"{count} ({100 * count / max(1, one.total()):.0f} %)" for count in of])
    ends[-1] = [
        f"{end}  {came_out}" if name == measured else end
        for name, end in zip(counts, ends[-1], strict=True)
    ]
    word, keys = by, []
    if len(votes) > 1:
        word = f"first vote: {total}"
        keys = [Patch(label=f"second vote: {chosen[-1].total()}", **AGAIN)]
    first = [(name, {word: each[0]}) for name, each in counts.items()]
    fig, ax = _bars(first, {word: {"fill": False, **PREDICTED}}, ends[0], *keys)
    starts = [0.0]
    if len(votes) > 1:  # to the right, on the same scale
        starts.append(2.6 * ax.get_xlim()[1])
        again = [each[1] for each in counts.values()]
        ax.set_xlim(0, starts[1] + max(*again, ax.get_xlim()[1]))
        bars = ax.barh(
            range(len(again)), again, ax.patches[0].get_height(), starts[1], clip_on=False, **AGAIN
        )
        for bar, end in zip(bars, ends[1], strict=True):
            _end(ax, bar.get_x() + bar.get_width(), bar.get_y() + bar.get_height() / 2, end)
    for row, (name, label) in enumerate(zip(counts, ax.get_yticklabels(), strict=True)):
        is_measured = name == measured
        label.set_weight("bold" if is_measured else "normal")
        for at in starts:
            style = MEASURED if is_measured else {"color": GRID, "linewidth": 1.2}
            ax.plot((at, at), (row - 0.4, row + 0.4), **style)
    texts = ", ".join(f"{name}: {', then '.join(map(str, each))}" for name, each in counts.items())
    alt = (
        f"{by.capitalize()}. {texts}.{f' {came_out.capitalize()}: {measured}.' if measured else ''}"
    )
    return picture(fig, alt, caption)


def _chosen(question: Question, answer: Any) -> str | None:
    """The answer as text; None if it isn't an answer. To a quiz it's the first of the letters that
    were clicked.
    """
    if question.kind == "quiz":
        given = isinstance(answer, str) and answer[:1]
        return next((name for name in question.names if name[1] == given), None)
    if question.kind == "choice":
        return answer if isinstance(answer, str) else None
    fits = isinstance(answer, list) and all(isinstance(name, str) for name in answer)
    fits = fits and (not question.names or sorted(answer) == sorted(question.names))
    return ", ".join(answer) if fits else None


def _numbers(question: Question, votes: Sequence[Sequence[Any]], caption: str) -> Picture | None:
    by_name: dict[str, list[list[float]]] = {}
    for vote, answers in enumerate(votes):
        for answer in answers:
            for name, number in answer.items() if isinstance(answer, dict) else [("", answer)]:
                if _is_number(number) and isinstance(answer, dict) == (question.kind == "numbers"):
                    drawn = 0.0 if number < SMALLEST_NUMBER else float(min(number, LARGEST_NUMBER))
                    by_name.setdefault(name, [[] for _ in votes])[vote].append(drawn)
    names = question.names or (sorted(by_name) if question.kind == "numbers" else [""])
    enough = {
        name: by_name[name] for name in names if len(by_name.get(name, [()])[0]) >= MIN_ANSWERS
    }
    measured = (
        question.measured if isinstance(question.measured, Mapping) else {"": question.measured}
    )
    measured = {
        name: number for name, number in measured.items() if _is_number(number) and name in enough
    }
    return _spread(question, enough, measured, caption) if enough else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _spread(
    question: Question,
    answers: Mapping[str, Sequence[Sequence[float]]],
    measured: Mapping[str, float],
    caption: str,
) -> Picture:
    """For each name, a histogram of the predicted numbers (0 and up), before a solid one of a
    second vote; the medians, and the number `measured`. What is larger than the axis is a bar of
    its own, at its end.
    """
    votes = [list(filter(len, of)) for of in answers.values()]
    unit = question.unit
    every = [numbers for of in votes for numbers in of]
    top, step = _axis(every, [*measured.values()], question.most)
    edges = np.linspace(-step / 2, top + step / 2, round(top / step) + 2)
    end = edges[-1]
    ticks = MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(0, top)
    labels = {tick: digits(tick) for tick in ticks if 0 <= tick <= end}
    if max(map(max, every)) > end:
        labels = {tick: label for tick, label in labels.items() if tick < top - 3 * step}
        labels[top + 2.5 * step] = f"over {digits(top)}"
        edges = np.append(edges, [top + 1.5 * step, top + 3.5 * step])
    fig, ax, tall = _rows(answers, HILL if max(map(len, votes)) == 1 else 1.25 * HILL, SCALE)
    ax.set_xlim(edges[0], edges[-1])
    ax.set_xticks([*labels], labels.values())
    ax.grid(axis="x")
    texts = []
    for row, (name, of) in enumerate(zip(answers, votes, strict=True)):
        ground = row + tall / 2
        ax.axhline(ground, color="#9a9a9a", linewidth=0.7)
        counted = [
            np.histogram([edges[-1] if number > end else number for number in numbers], edges)[0]
            for numbers in of
        ]
        highest = max(1, *(counts.max() for counts in counted))
        for counts, style in zip(
            counted, (PREDICTED, {"fill": True, "zorder": 0.9, **AGAIN}), strict=False
        ):
            hills = np.where(counts, ground - tall * counts / highest, np.nan)
            ax.stairs(hills, edges, baseline=ground, clip_on=False, **style)
        low, median, high = map(float, np.quantile(of[0], (0.25, 0.5, 0.75)))
        if median <= top:
            ax.plot(median, ground + tall / 8, clip_on=False, marker="^", markersize=5.5, color=INK)
        lines = [f"median {in_unit(median, unit)}"]
        text = f"{name}: " if name else ""
        half = f"half of them from {digits(low)} to {digits(high)}"
        text += f"{len(of[0])} predictions, median {digits(median)}, {half}"
        for numbers in of[1:]:
            lines.append(f"then {in_unit(float(np.median(numbers)), unit)}")
            text += f", then {digits(float(np.median(numbers)))}"
        if name in measured:
            ax.plot(
                (measured[name],) * 2,
                (ground - 1.1 * tall, ground),
                solid_capstyle="butt",
                **MEASURED,
            )
            lines.append(f"measured {in_unit(measured[name], unit)}")
            text += f"; measured {digits(measured[name])}"
        if beyond := max(sum(number > end for number in numbers) for numbers in of):
            text += f"; {beyond} over {digits(top)}"
        ax.text(
            1.02,
            row,
            "\n".join(lines),
            transform=ax.get_yaxis_transform(),
            va="center",
            linespacing=1.35,
        )
        texts.append(text)
    second = [len(of[1]) for of in votes if len(of) > 1]
    by = f"{'first vote:' if second else 'predicted by'} {max(len(of[0]) for of in votes)}"
    middle = "median of the first" if second else "their median"
    keys = [
        Patch(fill=False, label=by, **PREDICTED),
        *([Patch(label=f"second vote: {max(second)}", **AGAIN)] if second else []),
        Line2D([], [], linestyle="none", marker="^", markersize=5.5, color=INK, label=middle),
        *([Line2D([], [], label="measured", **MEASURED)] if measured else []),
    ]
    legend(fig, *keys)
    return picture(
        fig,
        f"The spread of predictions{f' in {unit}' if unit else ''}. {'. '.join(texts)}.",
        caption,
    )


def _axis(
    answers: Sequence[Sequence[float]], measured: Sequence[float], most: float | None
) -> tuple[float, float]:
    """Where the axis ends, and the width of a step: 1 if all numbers are whole and few. It reaches
    what was measured, and the most that may be answered or, without that, the largest prediction
    that isn't an outlier (Tukey's fence), but at most FARTHEST times the largest median.
    """
    ends = list(measured)
    middles = list(measured)
    for numbers in answers:
        low, middle, high = np.quantile(numbers, (0.25, 0.5, 0.75))
        ends.append(max(number for number in numbers if number <= high + 1.5 * (high - low)))
        middles.append(middle)
    top = (
        max(most, *measured, 0.0)
        if most
        else min(max(ends), FARTHEST * max(middles)) or max(ends) or 1.0
    )
    whole = all(number == round(number) for numbers in (*answers, measured) for number in numbers)
    return (float(round(top)), 1.0) if whole and 1 <= top <= STEPS else (top, top / STEPS)


def _rows(labels: Iterable[str], tall: float, foot: float = 0) -> tuple[Figure, Axes, float]:
    """A figure below its legend, with a row for each label, from the top; and what part of a row
    `tall` pixels are.
    """
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
    rows: Sequence[tuple[str, Mapping[str, int]]],
    styles: Mapping[str, Mapping[str, Any]],
    ends: Sequence[str],
    *keys: Patch,
) -> tuple[Figure, Axes]:
    """One stacked bar per row, a part for each of `styles`, the text of `ends` after it; `keys` for
    what's beside.
    """
    most = max(sum(counts.values()) for _, counts in rows)
    fig, ax, tall = _rows([label for label, _ in rows], BAR)
    ax.set_xticks([])
    ax.set_xlim(0, most)
    left = np.zeros(len(rows))
    for word, style in styles.items():
        counts = np.array([row.get(word, 0) for _, row in rows])
        bars = ax.barh(range(len(rows)), counts, tall, left, clip_on=False, **style)
        if len(styles) > 1:
            texts = [str(count) if count > most / 25 else "" for count in counts]
            box = {"facecolor": bars.patches[0].get_facecolor(), "edgecolor": "none", "pad": 1.5}
            ax.bar_label(
                bars,
                texts,
                label_type="center",
                color="white" if word == "right" else INK,
                bbox=box,
            )
        left += counts
    for row, (end, text) in enumerate(zip(left, ends, strict=True)):
        _end(ax, end, row, text)
    legend(fig, *(Patch(label=word, **style) for word, style in styles.items()), *keys)
    return fig, ax


def _end(ax: Axes, x: float, y: float, text: str) -> None:
    """The text after a bar that ends at x."""
    ax.annotate(text, (x, y), (8, 0), textcoords="offset pixels", va="center", color=QUIET)
