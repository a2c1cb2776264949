"""Which method is faster, by how often it writes: one line per method, the crossing point, and a slider over sizes."""

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ...show.figure import (
    FAR,
    INK,
    MARKS,
    PAGE,
    PREDICTED,
    Interactive,
    Picture,
    legend,
    look,
    picture,
    slider,
    vertical,
)
from ...units import in_words, size

Curve = Mapping[float, float]  # seconds, by the probability of a write
Points = Mapping[int | str, Mapping[str, Curve]]
CLEAR = 0.02  # ignore differences below 2 % of the times: the clock's noise makes equal lines cross


class Reign(NamedTuple):
    """The fastest method between two probabilities of a write."""

    method: str
    start: float
    end: float


def crossover(
    points: Points, predicted: float | Mapping[int | str, float] | None = None, caption: str = ""
) -> Interactive:
    """`crossover_figure` with a slider over the sizes; on paper, the picture of the largest size.

    `points`: size (bytes, or "64 MiB") -> method -> probability of a write (0 to 1) -> seconds. `predicted` is the
    probability where the reader expects the lines to cross: one for all sizes, or one per size.
    """
    sizes = _by_size(points)
    words = {each: in_words(each, "bytes") for each in sizes}
    return slider("Size", words, max(sizes), lambda chosen: crossover_figure(sizes, chosen, predicted, caption))


def crossover_figure(
    points: Points,
    chosen: int | str | None = None,
    predicted: float | Mapping[int | str, float] | None = None,
    caption: str = "",
) -> Picture:
    """Seconds over the probability of a write, one line per method, for the `chosen` size (default: the largest).

    A circle marks where another method becomes the fastest, interpolated between two measured points. A dashed line
    marks the prediction. The scale is logarithmic only if a line lies far above another. ValueError for an unknown
    size, a probability outside 0 to 1, a time that isn't above 0, or methods measured at different probabilities.
    """
    sizes = _by_size(points)
    mark = max(sizes) if chosen is None else size(chosen)
    if mark not in sizes:
        there = ", ".join(in_words(each, "bytes") for each in sizes)
        raise ValueError(f"nothing was measured at {in_words(mark, 'bytes')}; there are: {there}")
    guess = _guess(predicted, mark)
    with look():
        fig = Figure(figsize=(PAGE, 3.2))
        ax = fig.add_axes((0.1, 0.145, 0.865, 0.69))
        ax.set_title(f"time, {in_words(mark, 'bytes')}")
        _draw(ax, sizes[mark], guess)
        methods = zip(sizes[mark], MARKS, strict=False)
        keys = [Line2D([], [], label=name, **_line(look)) for name, look in methods]
        legend(fig, *keys, *[Line2D([], [], label="predicted", **PREDICTED)] * (guess is not None))
        said = f"{in_words(mark, 'bytes')}: {in_sentence(sizes[mark])}."
        return picture(fig, _alt(sizes, mark, guess), f"{caption} {said}")


def reigns(methods: Mapping[str, Curve]) -> list[Reign]:
    """The fastest methods, from the lowest probability to the highest.

    To take the lead, a method must be faster by more than CLEAR; it then leads from where the lines crossed.
    """
    chances = sorted(next(iter(methods.values())))
    leader = min(methods, key=lambda name: methods[name][chances[0]])
    found, start = [], chances[0]
    for place, chance in enumerate(chances):
        best = min(methods, key=lambda name: methods[name][chance])
        if methods[best][chance] < (1 - CLEAR) * methods[leader][chance]:
            crossed = _crossed(methods[leader], methods[best], chances[: place + 1])
            found.append(Reign(leader, start, max(start, crossed)))
            leader, start = best, found[-1].end
    return [*found, Reign(leader, start, chances[-1])]


def in_sentence(methods: Mapping[str, Curve]) -> str:
    """ "copy on write is faster up to 93 %, copy always from there", or "copy on write is always faster"."""
    order, (first, *others) = "faster" if len(methods) == 2 else "the fastest", reigns(methods)
    if not others:
        end = first.end
        equal = [name for name in methods if name != first.method and _level(methods, name, first.method, end)]
        told = f"{first.method} is always {order}"
        verb = "is" if len(equal) == 1 else "are"
        return f"{told}, but at {_percent(end)} {' and '.join(equal)} {verb} as fast" if equal else told
    told = [f"{first.method} is {order} up to {_percent(first.end)}"]
    told += [f"{reign.method} from there up to {_percent(reign.end)}" for reign in others[:-1]]
    return ", ".join([*told, f"{others[-1].method} from there"])


def _crossed(leader: Curve, other: Curve, chances: list[float]) -> float:
    """The probability where `other` last became faster, on straight lines between the measured points."""
    for low, high in reversed(list(pairwise(chances))):
        before, after = other[low] - leader[low], other[high] - leader[high]
        if before >= 0 > after:
            return low + (high - low) * before / (before - after)
    return chances[0]


def _level(methods: Mapping[str, Curve], name: str, other: str, chance: float) -> bool:
    first, second = methods[name][chance], methods[other][chance]
    return abs(first - second) <= CLEAR * max(first, second)


def _by_size(points: Points) -> dict[int, Mapping[str, Curve]]:
    sizes = dict(sorted((size(each), methods) for each, methods in points.items()))
    if not sizes:
        raise ValueError("nothing to show: pass at least one size with two methods")
    for each, methods in sizes.items():
        words = in_words(each, "bytes")
        if not 2 <= len(methods) <= len(MARKS):
            raise ValueError(f"a crossing needs 2 to {len(MARKS)} methods; at {words} there are {len(methods)}")
        chances = {name: sorted(curve) for name, curve in methods.items()}
        for name, curve in methods.items():
            if len(curve) < 2 or chances[name] != next(iter(chances.values())):
                raise ValueError(f"{name!r} at {words} was measured at {chances[name]}; all need the same two or more")
            for chance, seconds in curve.items():
                if not 0 <= chance <= 1:
                    raise ValueError(f"{name!r} at {words}: a probability of {chance}; it should be from 0 to 1")
                if not 0 < seconds < float("inf"):
                    raise ValueError(f"{name!r} at {words}: a time of {seconds} s; it should be more than 0")
    return sizes


def _guess(predicted: float | Mapping[int | str, float] | None, chosen: int) -> float | None:
    if isinstance(predicted, Mapping):
        predicted = {size(each): chance for each, chance in predicted.items()}.get(chosen)
    if predicted is not None and not 0 <= predicted <= 1:
        raise ValueError(f"the predicted crossing is {predicted}; it should be a probability, from 0 to 1")
    return predicted


def _draw(ax: Axes, methods: Mapping[str, Curve], guess: float | None) -> None:
    times = [seconds for curve in methods.values() for seconds in curve.values()]
    highest = [max(curve.values()) for curve in methods.values()]
    far = max(highest) > FAR * min(highest)
    ax.set(xlim=(-0.02, 1.02), xlabel="probability of a write" + ", logarithmic scale of time" * far)
    ax.set_xticks([i / 10 for i in range(11)], [_percent(i / 10) for i in range(11)])
    vertical(ax, times, far, above=0.2)
    ax.yaxis.set_major_formatter(lambda seconds, _: _time(seconds) if seconds else "0")
    for (_, curve), mark in zip(methods.items(), MARKS, strict=False):
        ax.plot(*zip(*sorted(curve.items()), strict=True), **_line(mark), clip_on=False)
    if guess is not None:
        ax.axvline(guess, **PREDICTED)
        side = "right" if guess > 0.5 else "left"
        _write(ax, f"predicted {_percent(guess)}", (guess, 1), (-4 if guess > 0.5 else 4, -2), side, "axes fraction")
    for reign in reigns(methods)[:-1]:
        height = _at(methods[reign.method], reign.end)
        ax.plot(reign.end, height, "o", markersize=9, markerfacecolor="none", markeredgecolor=INK, markeredgewidth=1.6)
        _write(ax, _percent(reign.end), (reign.end, height), (6, -8), "left", "data", "bold")


def _write(
    ax: Axes, words: str, at: tuple[float, float], shift: tuple[float, float], side: str, y: str, weight: str = "normal"
) -> None:
    back = {"facecolor": "white", "linewidth": 0, "pad": 1, "alpha": 0.9}
    ax.annotate(
        words, at, xytext=shift, xycoords=("data", y), textcoords="offset points", ha=side, va="top",
        fontweight=weight, bbox=back, zorder=4,
    )  # fmt: skip


def _at(curve: Curve, chance: float) -> float:
    """The time at `chance`, on a straight line between the measured points beside it."""
    low = max(each for each in curve if each <= chance)
    high = min(each for each in curve if each >= chance)
    return curve[low] + (curve[high] - curve[low]) * ((chance - low) / (high - low) if high > low else 0)


def _line(mark: tuple[str, str, str]) -> dict[str, object]:
    marker, color, line = mark
    return {"marker": marker, "color": color, "linestyle": line, "linewidth": 1.3, "markersize": 4}


def _percent(chance: float) -> str:
    return f"{100 * chance:.0f} %"


def _time(seconds: float) -> str:
    for unit, name in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= 0.9995 * unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds / 1e-9:.3g} ns"


def _alt(sizes: Mapping[int, Mapping[str, Curve]], chosen: int, guess: float | None) -> str:
    """For the chosen size the ends of each line and the crossings; for the other sizes the crossings."""
    told = []
    for name, curve in sizes[chosen].items():
        low, high = min(curve), max(curve)
        told.append(f"{name}: {_time(curve[low])} at {_percent(low)}, {_time(curve[high])} at {_percent(high)}.")
    told += [] if guess is None else [f"Predicted crossing: {_percent(guess)}."]
    told += [f"{in_words(each, 'bytes')}: {in_sentence(methods)}." for each, methods in sizes.items() if each != chosen]
    here = in_words(chosen, "bytes")
    return f"Time over the probability of a write, {here}: {in_sentence(sizes[chosen])}. {' '.join(told)}"
