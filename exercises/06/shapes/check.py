"""06.shapes: the right total of every mix, 20 times faster than a method call for each shape."""

import secrets
from math import pi

from helpers.teach.judging import Attempt, NotYet, Verdict, called, right
from helpers.units import MiB, in_words

TIMES, COUNT, ROUNDS = 20, 5_000, 8
MIXES = {
    "circles only": (6, 0, 0),
    "rectangles only": (0, 7, 0),
    "triangles only": (0, 0, 5),
    "shapes of all three kinds": (5, 6, 7),
    "a list without any shape": (0, 0, 0),
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


def run(layout, seed: int) -> dict:
    """What was wrong first, and for which mix; or the seconds of the loop and of the student's total for the last."""
    for name, counts in MIXES.items():
        shapes = mix(*counts, seed=seed)
        try:
            total = layout(list(shapes))
            if not callable(total):
                return {"mix": name, "wanted": "a function from `layout`", "type": type(total).__name__}
            for cut in (0.0, 0.25, 0.625):
                if wrong := other_total(total, shapes, cut):
                    return wrong | {"mix": name}
        except Exception as error:
            if len(error.args) <= 1:  # the student reads for which mix it was raised
                error.args = (f"{error} (for {name})",)
            raise
    return timed(total, shapes) | {"mix": name}


def other_total(total, shapes: list, cut: float) -> dict | None:
    """What is to be said of a total that differs from the loop's; None if it does not."""
    import math

    got, wanted = total(cut), by_methods(shapes, cut)
    if getattr(got, "ndim", 0) or not hasattr(got, "__float__"):
        return {"wanted": "one number from `total`", "type": type(got).__name__}
    if math.isclose(got, wanted, rel_tol=1e-9, abs_tol=1e-12):
        return None
    return {"cut": cut, "got": float(got), "wanted": wanted, "near": math.isclose(got, wanted, rel_tol=1e-4)}


def timed(total, shapes: list) -> dict:
    """Seconds of the loop and of `total`, in turn, the best of each; or what was wrong with a total."""
    import os
    from time import perf_counter, process_time

    # Time that other programs take does not count, except on Windows, whose process_time goes by steps of 16 ms.
    clock = process_time if os.name == "posix" else perf_counter
    loop = yours = float("inf")
    for cut in (0.3 + step / 100 for step in range(ROUNDS)):
        if wrong := other_total(total, shapes, cut):
            return wrong
        began = clock()
        by_methods(shapes, cut)
        loop = min(loop, (now := clock()) - began)
        end = now + loop
        while now < end:  # as long as the loop took: a moment without disturbance is found for both
            cut += 1e-7  # never the same twice: an answer that was kept is of no use
            began = clock()
            total(cut)
            yours = min(yours, (now := clock()) - began)
    return {"loop": loop, "yours": yours}


def judge(attempt: Attempt) -> Verdict:
    told = attempt.run(run, secrets.randbelow(2**32), memory_limit=512 * MiB).value
    if "loop" not in told:
        refuse(told, f"for {told['mix']}:")
    faster, count = told["loop"] / told["yours"], 3 * COUNT
    figures = (
        f"{faster:.3g} times faster than the loop (at least {TIMES})",
        f"the loop: {in_words(told['loop'] / count, 'seconds')} for a shape",
        f"yours: {in_words(told['yours'] / count, 'seconds')}",
    )
    if faster < TIMES:
        why = (
            f"the totals are right, but `total` is {faster:.2g} times as fast as the loop; expected {TIMES} times. Is "
            "something still done shape by shape, or at every call? Whatever doesn't depend on `cut` belongs in "
            "`layout`, whose time doesn't count."
        )
        raise NotYet("too-slow", why, figures)
    done = f"The totals are right, and for {count:,} mixed shapes `total` is {faster:.3g} times faster than a loop"
    return right(f"{done} of method calls.", figures)


def refuse(told: dict, begin: str) -> None:
    """NotYet says what kind of slip makes such a total, where that can be told."""
    if "type" in told:
        raise NotYet("other-type", f"{begin} expected {told['wanted']}, got {called(told['type'])}.")
    begin += f" with cut={told['cut']:.4g}, expected {told['wanted']:.9g}, got {told['got']:.9g}."
    if told["cut"]:
        why = "Without a cut it was right. Is `cut` taken off when `total` is called, and does no length fall below 0?"
        raise NotYet("wrong-cut", f"{begin} {why}")
    if told["near"]:
        raise NotYet(
            "short-floats", f"{begin} Only the first digits are right. In which dtype do you keep the lengths?"
        )
    raise NotYet("wrong-total", begin)
