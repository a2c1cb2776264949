"""The charts of the class report: how a class did, and what it predicted, beside what was measured.
They name nobody. As in every figure, predictions are dashed outlines, and measurements are solid.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from ..show.cells import EDGE, MEASURED, Bar, Hills, Scale
from ..show.chart import Row, layout
from ..show.chart import chart as chart_of
from ..show.figure import INK, PREDICTED, Kind, Picture, look, paint, picture
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
STEPS, FARTHEST = 32, 8  # in a histogram; times the largest median
AGAIN = {"facecolor": "#d9d5cc", "edgecolor": "#8a8378", "linewidth": 0.8}  # a second vote
MOST_CHOICES = 8
LARGEST_NUMBER = (
    1e18  # larger numbers count as this number: a whole number in JSON may have a thousand digits
)
SMALLEST_NUMBER = 1e-18  # smaller numbers count as 0: a step of the axis must not


def outcomes(rows: Mapping[str, Mapping[str, int]]) -> Picture:
    """One bar per row: how many students have each outcome of OUTCOMES."""
    kinds = [kind for kind in OUTCOMES if any(counts.get(kind.word) for counts in rows.values())]
    looks = {kind.word: {"linewidth": 0.8, **paint(kind)} for kind in kinds}
    most = max(sum(counts.values()) for counts in rows.values())
    shown = []
    for name, counts in rows.items():
        parts = [(counts[word], look) for word, look in looks.items() if counts.get(word)]
        words = [f"{counts[word]} {word}" for word in looks if counts.get(word)]
        end = f"{counts.get('right', 0)} of {sum(counts.values())}"
        shown.append(Row(name, [Bar(parts, end, most=most, numbers=len(kinds) > 1)], words))
    with look():
        keys = [Patch(label=word, **style) for word, style in looks.items()]
        return chart_of("One bar per row, students by outcome", shown, keys=keys)


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
    looks = [{"fill": False, **PREDICTED}, AGAIN]
    rows = []
    for name, each in counts.items():
        cells = []
        for count, one, style in zip(each, chosen, looks, strict=False):
            end = f"{count} ({100 * count / max(1, one.total()):.0f} %)"
            if name == measured and one is chosen[-1]:
                end += f"  {came_out}"
            edge = MEASURED if name == measured else EDGE
            cells.append(Bar([(count, style)], end, strong=name == measured, edge=edge))
        rows.append(Row(name, cells))
    labels = [by]
    if len(votes) > 1:
        labels = [f"first vote: {total}", f"second vote: {chosen[1].total()}"]
    keys = [Patch(label=word, **style) for word, style in zip(labels, looks, strict=False)]
    told = [f"{name}: {', then '.join(map(str, each))}" for name, each in counts.items()]
    alt = f"{by.capitalize()}. {', '.join(told)}."
    if measured:
        alt += f" {came_out.capitalize()}: {measured}."
    return picture(layout(rows, keys=keys, alike=True), alt, caption, rows)


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
    votes = {name: [numbers for numbers in of if numbers] for name, of in answers.items()}
    every = [numbers for of in votes.values() for numbers in of]
    unit = question.unit
    top, step = _axis(every, [*measured.values()], question.most)
    edges = np.linspace(-step / 2, top + step / 2, round(top / step) + 2)
    end = edges[-1]
    marks = MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(0, top)
    scale = {mark: digits(mark) for mark in marks if 0 <= mark <= end}
    if max(map(max, every)) > end:
        scale = {mark: words for mark, words in scale.items() if mark < top - 3 * step}
        scale[top + 2.5 * step] = f"over {digits(top)}"
        edges = np.append(edges, [top + 1.5 * step, top + 3.5 * step])
    rows = []
    for name, (first, *again) in votes.items():
        within = [np.where(np.array(of) > end, edges[-1], of) for of in (first, *again)]
        low, median, high = map(float, np.quantile(first, (0.25, 0.5, 0.75)))
        lines = [f"median {in_unit(median, unit)}"]
        words = f"{len(first)} predictions, median {digits(median)}, "
        words += f"half of them from {digits(low)} to {digits(high)}"
        for numbers in again:
            then = float(np.median(numbers))
            lines.append(f"then {in_unit(then, unit)}")
            words += f", then {digits(then)}"
        came = measured.get(name)
        if came is not None:
            lines.append(f"measured {in_unit(came, unit)}")
            words += f"; measured {digits(came)}"
        if beyond := max(sum(number > end for number in of) for of in (first, *again)):
            words += f"; {beyond} over {digits(top)}"
        looks = {"fill": False, **PREDICTED}, {"fill": True, **AGAIN}
        counts = [
            (np.histogram(of, edges)[0], look) for of, look in zip(within, looks, strict=False)
        ]
        mark = median if median <= top else None
        hills = Hills(edges, counts, "\n".join(lines), mark, came)
        rows.append(Row(name, [hills], [words]))
    second = [len(again[0]) for _, *again in votes.values() if again]
    by = f"{'first vote:' if second else 'predicted by'} {max(len(of[0]) for of in votes.values())}"
    middle = {"linestyle": "none", "marker": "^", "markersize": 5.5, "color": INK}
    keys = [Patch(fill=False, label=by, **PREDICTED)]
    if second:
        keys.append(Patch(label=f"second vote: {max(second)}", **AGAIN))
    keys.append(Line2D([], [], label="median of the first" if second else "their median", **middle))
    if measured:
        keys.append(Line2D([], [], label="measured", **MEASURED))
    rows.append(Row("", [Scale(scale)]))
    opening = f"The spread of predictions{f' in {unit}' if unit else ''}"
    return chart_of(opening, rows, caption, keys=keys)


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
    reached = min(max(ends), FARTHEST * max(middles)) or max(ends) or 1.0
    top = max(most, *measured, 0.0) if most else reached
    whole = all(number == round(number) for numbers in (*answers, measured) for number in numbers)
    return (float(round(top)), 1.0) if whole and 1 <= top <= STEPS else (top, top / STEPS)
