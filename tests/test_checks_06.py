"""Lesson 06: what the checks count and lay out is what they say."""

import ctypes
import sys
import threading
from collections.abc import Callable

import pytest

from helpers.ideas.vtable import Affine, DynBackend, Scale
from helpers.teach import exercise, exercise_files

REGISTRY = exercise_files.check(exercise("06.registry").folder)


def test_steps_are_counted_and_not_timed():
    def walk(count: int) -> None:
        for _ in range(count):
            pass

    steps = REGISTRY.steps
    assert steps(walk, 50) == steps(walk, 50)
    assert steps(walk, 1000) - steps(walk, 500) == steps(walk, 500) - steps(walk, 0)
    assert steps(sum, range(1000)) < 10 < 500 < steps(walk, 500)


def test_asking_a_type_takes_steps_though_c_code_asks():
    def registry():
        table = []
        return lambda kind, function: table.append(kind), lambda value: table.count(type(value))

    few, many = (REGISTRY.steps_of_a_run(registry, count) for count in (8, 200))
    assert many > 2 * few + 50


def test_every_slip_of_a_registry_has_its_advice():
    one = exercise("06.registry")
    words, made = list("abcdefg"), one.made(one.solution_source)
    assert {cause for cause, *_ in REGISTRY.uses(made, words)} == set(REGISTRY.ADVICE)
    assert list(REGISTRY.uses(made, words)) == list(REGISTRY.uses(REGISTRY.by_bases, words))


@pytest.mark.parametrize("evade", [lambda: sys.settrace(None), lambda: threading.Thread(target=int).start()])
def test_steps_taken_elsewhere_are_noticed(evade: Callable):
    with pytest.raises(RuntimeError, match="which called"):
        REGISTRY.steps(evade)


@pytest.mark.parametrize(("value", "size"), [(Scale(2.5), 8), (Affine(2.5, 1.0), 16)])
def test_the_table_asked_about_is_laid_out_as_that_of_the_lesson(value: ctypes.Structure, size: int):
    one, backend = exercise("06.vtable"), DynBackend.of(value)
    call_through = one.made(one.solution_source)
    assert call_through(ctypes.addressof(backend.fat), 3.0) == (size, value.infer(3.0))
