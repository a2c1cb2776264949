"""Lesson 06: other right answers are right, and what the checks count is what it says."""

import ctypes

import pytest

from helpers.ideas.vtable import Affine, DynBackend, Scale
from helpers.teach import exercise
from helpers.teach.carried import lesson_06 as carried
from helpers.teach.lessons import lesson_06

pytestmark = pytest.mark.usefixtures("nothing_is_left")

RIGHT = {
    "06.registry, singledispatch": """def registry():
    from functools import singledispatch

    @singledispatch
    def run(value):
        raise TypeError(f"nothing for {type(value)}")

    return run.register, run
""",
    "06.registry, a memo that is cleared": lesson_06.registry_by(
        "kind = type(value)\nif kind not in known:\n"
        "    known[kind] = next((table[k] for k in kind.__mro__ if k in table), None)\n"
        "if known[kind]:\n    return known[kind](value)",
        table="table, known = {}, {}",
        more="known.clear()",
    ),
    "06.registry, a class": """class Registry(dict):
    def run(self, value):
        found = [kind for kind in type(value).mro() if kind in self]
        if not found:
            raise TypeError(type(value).__name__)
        return self[found[0]](value)

def registry():
    made = Registry()
    return made.__setitem__, made.run
""",
    "06.shapes, sums": lesson_06.arrays_by("np.pi * (a**2).sum() + (w * h).sum() + (b * g).sum() / 2"),
    "06.shapes, an object": """class Total:
    def __init__(self, shapes):
        import numpy as np
        self.pairs = np.array([
            (s.radius, s.radius, np.pi) if hasattr(s, "radius")
            else (s.width, s.height, 1) if hasattr(s, "width")
            else (s.base, s.height, 0.5)
            for s in shapes
        ]).reshape(-1, 3).T.copy()

    def __call__(self, cut):
        one, other, factor = self.pairs
        return (factor * (one - cut).clip(0) * (other - cut).clip(0)).sum()

def layout(shapes):
    return Total(shapes)
""",
    "06.vtable, struct": """def call_through(address, x):
    import ctypes
    import struct
    data, table = struct.unpack("2Q", ctypes.string_at(address, 16))
    _, size, _, infer = struct.unpack("4Q", ctypes.string_at(table, 32))
    return size, ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_double)(infer)(data, x)
""",
    "06.vtable, structures": """def call_through(address, x):
    from helpers.ideas.vtable import FatPointer, VTable
    fat = FatPointer.from_address(address)
    table = VTable.from_address(fat.vtable)
    return [table.size, table.infer(fat.data, x)]
""",
}


@pytest.mark.parametrize("way", RIGHT)
def test_any_right_way_is_right(way: str):
    one = exercise(way.partition(",")[0])
    verdict = one.check(one.made(RIGHT[way]))
    assert verdict.outcome == "right", repr(verdict)


def test_a_registry_is_told_who_does_the_same():
    one = exercise("06.registry")
    verdict = one.check(one.made(one.solution_source))
    assert "functools.singledispatch" in verdict.because
    assert not any(figure.startswith("1 questions") for figure in verdict.figures)


def test_steps_are_counted_and_not_timed():
    def walk(count: int) -> None:
        for _ in range(count):
            pass

    assert carried.steps(walk, 50) == carried.steps(walk, 50)
    assert carried.steps(walk, 1000) - carried.steps(walk, 500) == carried.steps(walk, 500) - carried.steps(walk, 0)
    assert carried.steps(sum, range(1000)) < 10 < 500 < carried.steps(walk, 500)


@pytest.mark.parametrize(("value", "size"), [(Scale(2.5), 8), (Affine(2.5, 1.0), 16)])
def test_the_table_asked_about_is_laid_out_as_that_of_the_lesson(value: ctypes.Structure, size: int):
    one, backend = exercise("06.vtable"), DynBackend.of(value)
    call_through = one.made(one.solution_source)
    assert call_through(ctypes.addressof(backend.fat), 3.0) == (size, value.infer(3.0))


def test_a_total_that_forgets_a_length_below_zero_is_another_one():
    shapes = carried.mix(3, 3, 3)
    assert carried.by_methods(shapes, 2.0) == 0 < carried._not_clipped(shapes, 2.0)
    assert carried.by_methods(shapes, 0.0) == pytest.approx(carried._not_clipped(shapes, 0.0))


def test_every_message_of_the_registry_stands_for_a_case():
    cases = {case for case, _, _ in carried._uses(exercise("06.registry").made(RIGHT["06.registry, a class"]))}
    assert cases == set(lesson_06.UNREGISTERED)
