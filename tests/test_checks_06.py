"""Lesson 06: what the checks count and lay out is what they say."""

import ctypes

import pytest

from helpers.ideas.vtable import Affine, DynBackend, Scale
from helpers.teach import exercise, exercise_files

REGISTRY, SHAPES = (exercise_files.check(exercise(key).folder) for key in ("06.registry", "06.shapes"))


def test_steps_are_counted_and_not_timed():
    def walk(count: int) -> None:
        for _ in range(count):
            pass

    steps = REGISTRY.steps
    assert steps(walk, 50) == steps(walk, 50)
    assert steps(walk, 1000) - steps(walk, 500) == steps(walk, 500) - steps(walk, 0)
    assert steps(sum, range(1000)) < 10 < 500 < steps(walk, 500)


def test_every_slip_of_a_registry_has_its_advice():
    one = exercise("06.registry")
    causes = {cause for cause, *_ in REGISTRY.uses(one.made(one.solution_source))}
    assert causes == set(REGISTRY.ADVICE)


def test_a_total_that_forgets_a_length_below_zero_is_another_one():
    shapes = SHAPES.mix(3, 3, 3)
    assert SHAPES.by_methods(shapes, 2.0) == 0 < SHAPES.unclipped(shapes, 2.0)
    assert SHAPES.by_methods(shapes, 0.0) == pytest.approx(SHAPES.unclipped(shapes, 0.0))


@pytest.mark.parametrize(("value", "size"), [(Scale(2.5), 8), (Affine(2.5, 1.0), 16)])
def test_the_table_asked_about_is_laid_out_as_that_of_the_lesson(value: ctypes.Structure, size: int):
    one, backend = exercise("06.vtable"), DynBackend.of(value)
    call_through = one.made(one.solution_source)
    assert call_through(ctypes.addressof(backend.fat), 3.0) == (size, value.infer(3.0))
