"""An answer gets the same verdict in the sandbox as at home; test_exercises.py says which."""

import os

import pytest
from chosen import some

from helpers.classroom import sandbox
from helpers.teach import Exercise
from helpers.teach.exercise_files import Answer
from helpers.teach.exercises import exercises
from helpers.teach.source import taken
from helpers.units import MiB

pytestmark = [
    pytest.mark.usefixtures("nothing_is_left"),
    pytest.mark.skipif(bool(sandbox.why_not()) and "CI" not in os.environ, reason=sandbox.why_not()),
]
SMALL, SOON = 32 * MiB, 4  # bytes and seconds


def verdict(one: Exercise, text: str, **options) -> tuple[str, str]:
    said = one.verdict(taken([("<cell 1>", text)], one.name), fence=sandbox.fence, **options)
    return said.outcome, said.cause or said.because * (said.outcome != "right")


@pytest.mark.parametrize("one", some(exercises(), 5, "solutions", of_all=8), ids=lambda one: one.key)
def test_a_solution_is_right_inside(one: Exercise):
    assert verdict(one, one.solution_source) == ("right", "")


def drawn(kind: str, most: int, of_all: int) -> pytest.MarkDecorator:
    pairs = [(one, answer) for one in exercises() for answer in getattr(one, kind) if answer.can_be_given]
    found = [pytest.param(*pair, id=f"{pair[0].key}-{pair[1].name}") for pair in some(pairs, most, kind, of_all=of_all)]
    return pytest.mark.parametrize(("one", "answer"), found)


@drawn("right", 4, 8)
def test_another_right_answer_is_right_inside(one: Exercise, answer: Answer):
    assert verdict(one, answer.source, size=min(one.size, SMALL)) == ("right", "")


@drawn("wrong", 8, 20)
def test_a_wrong_answer_meets_its_cause_inside(one: Exercise, answer: Answer):
    assert verdict(one, answer.source, size=min(one.size, SMALL), timeout=SOON) == ("not yet", answer.expect)
