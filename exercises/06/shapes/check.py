"""06.shapes: the right total of every mix, 20 times as fast as calling a method for each shape."""

import os
import secrets
from collections.abc import Sequence
from math import isclose, pi
from time import perf_counter, process_time

import numpy as np

from helpers.measure import measure
from helpers.teach.judging import Attempt, NotYet, Verdict, called, right
from helpers.units import MiB, in_words

ALONE = True  # it measures time
TIMES, COUNT = 20, 5_000
RETURNS = "total() -> "  # before the type of what isn't a number
CUTS, ROUNDS = (0.0, 0.25, 0.625), 40  # how often the loop is timed
CALLS = 1_000  # of `total`
# Other programs' time doesn't count, except on Windows, whose process_time ticks every 16 ms. The
# clock gets into the student's process before the student's code does.
CLOCK = process_time if os.name == "posix" else perf_counter
MIXES = {
    "circles only": (6, 0, 0),
    "rectangles only": (0, 7, 0),
    "triangles only": (0, 0, 5),
    "shapes of all three kinds": (5, 6, 7),
    "an empty list": (0, 0, 0),
    "one rectangle": (0, 1, 0),
    "many shapes": (COUNT, COUNT, COUNT),
}


class Circle:
    def __init__(self, radius):
        self.radius = radius

    def area(self, cut):
        return pi * max(self.radius - cut, 0) ** 2


class Rectangle:
    def __init__(self, width, height):
        self.width, self.height = width, height

    def area(self, cut):
        return max(self.width - cut, 0) * max(self.height - cut, 0)


class Triangle:
    def __init__(self, base, height):
        self.base, self.height = base, height

    def area(self, cut):
        return max(self.base - cut, 0) * max(self.height - cut, 0) / 2


def mix(circles: int, rectangles: int, triangles: int, seed: int) -> list:
    """That many shapes of each kind, shuffled; their lengths lie between 0 and 1."""
    from random import Random

    random = Random(seed).random
    shapes = [Circle(random()) for _ in range(circles)]
    shapes += [Rectangle(random(), random()) for _ in range(rectangles)]
    shapes += [Triangle(random(), random()) for _ in range(triangles)]
    Random(seed + 1).shuffle(shapes)
    return shapes


def by_methods(shapes: list, cut: float) -> float:
    """The loop that `total` must beat."""
    return sum(shape.area(cut) for shape in shapes)


def asked(layout, seed: int) -> dict[str, list[float] | str]:
    """The totals of each mix, or the type of what there was instead."""
    return {
        name: totals_of(layout, name, mix(*counts, seed=seed)) for name, counts in MIXES.items()
    }


def totals_of(layout, name: str, shapes: list) -> list[float] | str:
    try:
        total = layout(shapes)
        if not callable(total):
            return type(total).__name__
        found = [total(cut) for cut in CUTS]
    except Exception as error:
        if len(error.args) <= 1:  # tells the student which mix raised it
            error.args = (f"{error} (for {name})",)
        raise
    others = [
        value for value in found if getattr(value, "ndim", 0) or not hasattr(value, "__float__")
    ]
    return RETURNS + type(others[0]).__name__ if others else [float(value) for value in found]


def timed(layout, seed: int, cuts: list[float], fast: float) -> tuple[float, list[float]]:
    """The best time of a call, in seconds, and the totals, one for each cut; no cut comes twice. If
    no call was `fast` after a second, it stops.
    """
    total = layout(mix(*MIXES["many shapes"], seed=seed))
    found, best, end = [], float("inf"), perf_counter() + 1
    for cut in cuts:
        began = CLOCK()
        found.append(float(total(cut)))
        best = min(best, CLOCK() - began)
        if best > fast and perf_counter() > end:
            break
    return best, found


def loop(shapes: list):
    return lambda cut: by_methods(shapes, cut)


def for_all_cuts(shapes: list, cuts: list[float]) -> list[float]:
    """The totals, shape by shape: each shape's area for every cut, since the judge knows the cuts
    beforehand.
    """
    factors, cut, totals = (
        {Circle: pi, Rectangle: 1, Triangle: 0.5},
        np.array(cuts),
        np.zeros(len(cuts)),
    )
    for shape in shapes:
        lengths = tuple(vars(shape).values())  # a circle has one, the others have two
        totals += (
            factors[type(shape)]
            * np.maximum(lengths[0] - cut, 0)
            * np.maximum(lengths[-1] - cut, 0)
        )
    return totals.tolist()


def judge(attempt: Attempt) -> Verdict:
    """First asks for the totals of each mix. Then times those of many shapes in their own process,
    as the loop is.
    """
    seed = secrets.randbelow(2**32)
    first = attempt.run(asked, seed, memory_limit=512 * MiB).value
    for name, counts in MIXES.items():
        shapes = mix(*counts, seed=seed)
        must_be_totals(first[name], CUTS, [by_methods(shapes, cut) for cut in CUTS], f"for {name}:")
    cuts = [0.2 + secrets.randbelow(10**9) / 4e9 for _ in range(CALLS)]
    by_loop, _ = measure(timed, loop, seed, cuts[:ROUNDS], 0.0, name="the loop").value
    yours, found = attempt.run(timed, seed, cuts, by_loop / TIMES, memory_limit=512 * MiB).value
    cuts = cuts[: len(found)]
    must_be_totals(
        found, cuts, for_all_cuts(mix(*MIXES["many shapes"], seed=seed), cuts), "for many shapes:"
    )
    faster, count = by_loop / yours, 3 * COUNT
    figures = (
        f"{faster:,.1f} times as fast as the loop (at least {TIMES})",
        f"the loop: {in_words(by_loop / count, 'seconds')} per shape",
        f"yours: {in_words(yours / count, 'seconds')}",
    )
    if faster < TIMES:
        why = (
            f"the totals are right, but `total` is only {faster:.3g} times as fast as the loop; "
            f"expected at least {TIMES} times. Is something still done shape by shape, or at "
            "every call? Whatever doesn't depend on `cut` belongs in `layout`, whose time "
            "doesn't count."
        )
        raise NotYet("too-slow", why, figures)
    done = (
        f"The totals are right, and for {count:,} mixed shapes `total` is {faster:,.0f} times as "
        "fast as a loop"
    )
    return right(f"{done} of method calls.", figures)


def must_be_totals(
    found: list[float] | str, cuts: Sequence[float], right: list[float], begin: str
) -> None:
    """Raises NotYet for a wrong total, and says what kind of slip makes it, if that shows."""
    if isinstance(found, str):
        got = "a `total` that returns " * found.startswith(RETURNS) + called(
            found.removeprefix(RETURNS)
        )
        raise NotYet("other-type", f"{begin} expected a function that returns a number, got {got}.")
    are_near = all(
        abs(got - wanted) < 1e-6 * max(right) for got, wanted in zip(found, right, strict=True)
    )
    for cut, got, wanted in zip(cuts, found, right, strict=True):
        if isclose(got, wanted, rel_tol=1e-9, abs_tol=1e-12):
            continue
        begin += f" with cut={cut:.4g}, expected {wanted:.9g}, got {got:.9g}."
        if are_near:
            why = "Only the first digits are right. Which dtype do you keep the lengths in?"
            raise NotYet("short-floats", f"{begin} {why}")
        if cut:
            why = (
                "Without a cut it was right. Does `total` take off `cut`, and does every length "
                "stop at 0?"
            )
            raise NotYet("wrong-cut", f"{begin} {why}")
        raise NotYet("wrong-total", begin)
