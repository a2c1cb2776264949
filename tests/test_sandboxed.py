"""A solution and a wrong answer of each lesson get the same verdict in the sandbox as at home."""

import pytest
from test_exercises import marks

from helpers.classroom import sandbox
from helpers.teach import Exercise
from helpers.teach.exercises import exercises
from helpers.teach.source import source_named
from helpers.units import MiB

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("nothing_is_left"),
    pytest.mark.needs(tool="bubblewrap"),
]
SMALL = 32 * MiB
OF_EACH_LESSON = {one.key[:2]: one for one in exercises()}.values()
each = pytest.mark.parametrize(
    "one", [pytest.param(one, id=one.key, marks=marks(one)) for one in OF_EACH_LESSON]
)


def verdict(one: Exercise, text: str, **options) -> tuple[str, str]:
    said = one.verdict(source_named([("<cell 1>", text)], one.name), fence=sandbox.fence, **options)
    return said.outcome, said.cause or said.because * (said.outcome != "right")


@each
def test_a_solution_is_right_inside(one: Exercise):
    assert verdict(one, one.solution_source) == ("right", "")


@each
def test_a_wrong_answer_meets_its_cause_inside(one: Exercise):
    answer = next(answer for answer in one.wrong if answer.can_be_given)
    assert verdict(one, answer.source, size=min(one.size, SMALL)) == ("not yet", answer.expect)
