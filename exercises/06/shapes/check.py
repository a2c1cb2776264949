"""06.shapes: the right total of every mix, 20 times faster than a method call for each shape."""

import math
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
    "circles and triangles": (4, 0, 3),
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


def mix(circles: int, rectangles: int, triangles: int, seed: int = 0) -> list:
    """That many shapes of each kind, shuffled; their lengths lie between 0 and 1."""
    from random import Random

    random = Random(seed).random
    shapes = [Circle(random()) for _ in range(circles)]
    shapes += [Rectangle(random(), random()) for _ in range(rectangles)]
    shapes += [Triangle(random(), random()) for _ in range(triangles)]
    Random(seed + 1).shuffle(shapes)
    return shapes


def by_methods(shapes: list, cut: float) -> float:
    """The loop that is to be beaten."""
    total = 0.0
    for shape in shapes:
        total += shape.area(cut)
    return total


def unclipped(shapes: list, cut: float) -> float:
    """The total of somebody who lets lengths fall below 0."""
    factor, total = {Circle: pi, Rectangle: 1, Triangle: 0.5}, 0.0
    for shape in shapes:
        lengths = [length - cut for length in vars(shape).values()]
        total += factor[type(shape)] * lengths[0] * lengths[-1]
    return total


def run(layout, mixes: dict[str, tuple[int, int, int]], rounds: int, seed: int) -> dict:
    """What was wrong first, and for which mix; or the seconds of the loop and of the student's total for the last mix,
    the best of `rounds`."""
    for name, counts in mixes.items():
        shapes = mix(*counts, seed=seed)
        try:
            total = layout(list(shapes))
            if not callable(total):
                return {"mix": name, "no function": type(total).__name__}
            for cut in (0.0, 0.25, 0.625):
                if wrong := other_total(total, shapes, cut):
                    return wrong | {"mix": name}
        except Exception as error:
            if len(error.args) <= 1:  # the student reads for which mix it was raised
                error.args = (f"{error} (for {name})",)
            raise
    return timed(total, shapes, rounds) | {"mix": name}


def other_total(total, shapes: list, cut: float) -> dict | None:
    """What is to be said of a total that differs from the loop's; None if it does not."""
    got, wanted = total(cut), by_methods(shapes, cut)
    if getattr(got, "ndim", 0) or not hasattr(got, "__float__"):
        return {"no number": type(got).__name__}
    if math.isclose(got, wanted, rel_tol=1e-9, abs_tol=1e-12):
        return None
    negative = unclipped(shapes, cut)
    return {"cut": cut, "got": float(got), "wanted": wanted, "uncut": float(total(0.0)), "negative": negative}


def timed(total, shapes: list, rounds: int) -> dict:
    """Seconds of the loop and of `total`, in turn, the best of each; or what was wrong with a total."""
    import os
    from time import perf_counter, process_time

    # Time that other programs take does not count, except on Windows, whose process_time goes by steps of 16 ms.
    clock = process_time if os.name == "posix" else perf_counter
    loop = yours = math.inf
    for cut in (0.3 + step / 100 for step in range(rounds)):
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
    seed = secrets.randbelow(2**32)
    told = attempt.run(run, MIXES, ROUNDS, seed, memory_limit=512 * MiB).value
    begin = f"for {told['mix']}:"
    if kind := told.get("no function"):
        raise NotYet("no-total", f"{begin} `layout` returned {called(kind)}. It returns a function: `return total`.")
    if kind := told.get("no number"):
        raise NotYet("no-number", f"{begin} `total` returned {called(kind)}. It returns one number.")
    if "got" in told:
        refuse_total(begin, told["cut"], told["got"], told["wanted"], told["uncut"], told["negative"])
    faster, count = told["loop"] / told["yours"], 3 * COUNT
    figures = (
        f"{faster:.3g} times faster than the loop (at least {TIMES})",
        f"the loop: {in_words(told['loop'] / count, 'seconds')} for a shape",
        f"yours: {in_words(told['yours'] / count, 'seconds')}",
    )
    if faster < TIMES:
        why = (
            f"the totals are right, but `total` is {faster:.2g} times as fast as the loop; expected {TIMES} times. Is "
            "something still done shape by shape? Say once, to a whole array, what is to be done. Are arrays made, "
            "or rows picked out, at every call? What does not depend on `cut` belongs in `layout`, whose time does "
            "not count."
        )
        raise NotYet("too-slow", why, figures)
    done = f"The totals are right, and for {count:,} mixed shapes `total` is {faster:.3g} times faster than a loop"
    return right(f"{done} of method calls.", figures)


def refuse_total(begin: str, cut: float, got: float, wanted: float, uncut: float, negative: float) -> None:
    """NotYet says which slip makes such a total, where that can be told."""
    begin = f"{begin} with cut={cut:.4g}, `total` gave {got:.9g}; expected {wanted:.9g}."
    if math.isclose(got, wanted, rel_tol=1e-4):
        why = f"{begin} That is near, but not the sum of 64-bit floats. In which dtype do you keep the lengths?"
        raise NotYet("short-floats", why)
    if cut and math.isclose(got, uncut, rel_tol=1e-6):
        why = f"{begin} That is the total without a cut. Compute the sum when `total` is called, not before."
        raise NotYet("cut-ignored", why)
    if math.isclose(got, negative, rel_tol=1e-6):
        why = f"{begin} No length falls below 0: otherwise two negative lengths have an area that counts."
        raise NotYet("below-zero", why)
    raise NotYet("wrong-total", begin)
