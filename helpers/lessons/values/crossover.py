"""Which of two methods is faster, by how often it writes: a line for each, the crossing, and a
slider over sizes.
"""

from collections.abc import Mapping
from itertools import pairwise

from ...show.figure import INK, Interactive, Picture, look, picture, slider
from ...show.lines import lines
from ...show.words import amount
from ...units import in_words

# seconds, by method and by the probability of a write, 0 to 1
Methods = Mapping[str, Mapping[float, float]]
CLEAR = 0.02  # ignore differences below 2 % of the times: the clock's noise makes equal lines cross


def crossover(
    points: Mapping[int, Methods], predicted: Mapping[int, float] | None = None, caption: str = ""
) -> Interactive:
    """Seconds over the probability of a write, with a slider over the sizes; on paper, the largest
    size. `points`: bytes -> method -> probability -> seconds. `predicted`: for each size, the
    probability where the reader expects the lines to cross. ValueError unless each size has two
    methods, measured at the same two or more probabilities.
    """
    words = {size: in_words(size, "bytes") for size in sorted(points)}
    return slider(
        "Size", words, max(words), lambda size: _figure(points, size, predicted or {}, caption)
    )


@look()
def _figure(
    points: Mapping[int, Methods], size: int, predicted: Mapping[int, float], caption: str
) -> Picture:
    """A circle marks the crossing, interpolated between two measured points, and a dashed line the
    prediction.
    """
    sentences = {
        each: f"{in_words(each, 'bytes')}: {in_sentence(points[each])}." for each in sorted(points)
    }
    at = ("predicted", predicted[size]) if predicted.get(size) is not None else None
    title = f"time, {in_words(size, 'bytes')}"
    shown = lines("probability of a write", points[size], "time", title, by_unit="share", at=at)
    if crossing := _crossing(points[size]):
        ring = {"markersize": 9, "markerfacecolor": "none", "markeredgewidth": 1.6}
        shown.figure.axes[-1].plot(*crossing, "o", markeredgecolor=INK, **ring)
    told = sentences.pop(size)
    return picture(
        shown.figure, " ".join([told, shown.alt, *sentences.values()]), f"{caption} {told}"
    )


def in_sentence(methods: Methods) -> str:
    """ "copy on write is faster up to 93 %, copy always from there", or "copy on write is always
    faster".
    """
    first, second = _ranked(methods)
    if crossing := _crossing(methods):
        return f"{first} is faster up to {amount(crossing[0], 'share')}, {second} from there"
    end = max(methods[first])
    equal = methods[second][end] <= methods[first][end] * (1 + CLEAR)
    return (
        f"{first} is always faster" + f", but at {amount(end, 'share')} {second} is as fast" * equal
    )


def _ranked(methods: Methods) -> list[str]:
    """The two methods, the one first that is faster at the lowest probability."""
    chances = {name: sorted(curve) for name, curve in methods.items()}
    if (
        len(methods) != 2
        or min(map(len, chances.values())) < 2
        or len({*map(tuple, chances.values())}) > 1
    ):
        raise ValueError(
            "a crossing needs two methods, measured at the same two or more probabilities, not "
            f"{chances}"
        )
    return sorted(methods, key=lambda name: methods[name][chances[name][0]])


def _crossing(methods: Methods) -> tuple[float, float] | None:
    """Where the second method last became faster: the probability, and the seconds there. None if
    it doesn't stay so. The lines are straight between the measured points.
    """
    first, second = (methods[name] for name in _ranked(methods))
    chances = sorted(first)
    if second[chances[-1]] >= (1 - CLEAR) * first[chances[-1]]:
        return None
    for low, high in reversed(list(pairwise(chances))):
        before = second[low] - first[low]
        after = second[high] - first[high]
        if before >= 0 > after:
            part = before / (before - after)
            return low + part * (high - low), first[low] + part * (first[high] - first[low])
    return None
