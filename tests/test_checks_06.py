"""Lesson 06: the checks count steps and lay out tables as they say they do."""

import ctypes
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from helpers.ideas.vtable import Affine, DynBackend, Scale
from helpers.measure import measure
from helpers.teach import exercise, exercise_files
from helpers.teach.judging import NotYet

REGISTRY = exercise_files.check(exercise("06.registry").folder)


def there(function: Callable, *args: Any) -> Any:
    """Calls the function in a process of its own, because what the step counter installs can't be
    removed.
    """
    run = measure(function, *args)
    if run.ended != "returned":
        raise RuntimeError(run.error)
    return run.value


def test_steps_are_counted_and_not_timed():
    def walk(count: int) -> None:
        for _ in range(count):
            pass

    def counted() -> list[int]:
        return [REGISTRY.steps(walk, count) for count in (50, 50, 0, 500, 1000)] + [
            REGISTRY.steps(sum, range(1000))
        ]

    once, again, none, some, many, by_c = there(counted)
    assert once == again
    assert many - some == some - none
    assert by_c < 10 < 500 < some


def test_asking_a_type_takes_steps_though_c_code_asks():
    def registry():
        table = []
        return lambda kind, function: table.append(kind), lambda value: table.count(type(value))

    few, many = there(REGISTRY.count, registry, 8, 200)
    assert many > 2 * few + 50


def test_every_slip_of_a_registry_has_its_advice():
    assert {cause for cause, *_ in REGISTRY.USES} == set(REGISTRY.ADVICE)


@pytest.mark.parametrize(
    "evade", [lambda: sys.settrace(None), lambda: threading.Thread(target=int).start()]
)
def test_steps_taken_elsewhere_are_noticed(evade: Callable):
    with pytest.raises(RuntimeError, match="which called"):
        there(REGISTRY.steps, evade)


@pytest.mark.parametrize(("value", "size"), [(Scale(2.5), 8), (Affine(2.5, 1.0), 16)])
def test_the_table_asked_about_is_laid_out_as_that_of_the_lesson(
    value: ctypes.Structure, size: int
):
    one = exercise("06.vtable")
    backend = DynBackend.of(value)
    call_through = one.made(one.solution_source)
    assert call_through(ctypes.addressof(backend.fat), 3.0) == (size, value.infer(3.0))


@pytest.mark.parametrize(("made", "name"), [(None, "nothing"), ([1.0], "`list`")], ids=str)
def test_a_total_that_returns_no_number_is_named(made: object, name: str):
    check = exercise_files.check(exercise("06.shapes").folder)
    totals = check.totals_of(lambda shapes: lambda cut: made, "circles", [])
    with pytest.raises(NotYet, match=f"got a `total` that returns {name}\\."):
        check.must_be_totals(totals, check.CUTS, [1.0], "for circles:")


def test_a_sum_with_short_floats_is_told_from_a_wrong_cut():
    """Seed by seed: by chance a short float is exact, and a length below zero hardly shows."""
    one = exercise("06.shapes")
    check = exercise_files.check(one.folder)
    for answer in (
        answer for answer in one.wrong if answer.expect in ("short-floats", "wrong-cut")
    ):
        for seed in range(300):
            shapes = check.mix(*check.MIXES["circles only"], seed=seed)
            totals = check.totals_of(one.made(answer.source), "circles", shapes)
            wanted = [check.by_methods(shapes, cut) for cut in check.CUTS]
            try:
                check.must_be_totals(totals, check.CUTS, wanted, "for circles:")
            except NotYet as mistake:
                assert mistake.cause == answer.expect, (answer.name, seed)
