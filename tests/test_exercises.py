"""Every exercise of every lesson, as in its folder: the starter counts as not attempted, right
answers are right, and each wrong answer is refused for the cause that its first line names.
"""

import re
import shutil
from inspect import signature
from pathlib import Path

import nbformat
import pytest

from helpers import folders
from helpers.measure import cache, maps, sampler
from helpers.publish.tidy import renew
from helpers.teach import Exercise, exercise, exercise_files
from helpers.teach.exercise_files import Answer
from helpers.teach.exercises import does_nothing, exercises
from helpers.teach.judging import NotYet
from helpers.units import KiB, MiB

pytestmark = pytest.mark.usefixtures("nothing_is_left")

SMALL = 32 * MiB  # bytes: the same check as in class, but smaller
SOON, LATE = 4, 60  # seconds, for what never ends, and for what does on a busy machine

answers_are_stamped = pytest.mark.stamped(part="answers")
each = pytest.mark.parametrize("one", exercises(), ids=lambda one: one.key)


def marks(one: Exercise, expected: str = "too-slow") -> list[pytest.MarkDecorator]:
    """Only a check that measures time needs the machine to itself; budgets of memory leave room for
    what else runs.
    """
    return [pytest.mark.measured] if one.alone and expected == "too-slow" else []


each_judged = pytest.mark.parametrize(
    "one", [pytest.param(one, id=one.key, marks=marks(one)) for one in exercises()]
)


def answers(kind: str) -> pytest.MarkDecorator:
    """Exercises, each with an answer that can be given here."""
    found = [
        pytest.param(
            one,
            answer,
            id=f"{one.key}-{answer.name}",
            marks=marks(one, answer.expect or "too-slow"),
        )
        for one in exercises()
        for answer in getattr(one, kind)
        if answer.can_be_given
    ]
    return pytest.mark.parametrize(("one", "answer"), found)


@each
def test_it_is_complete(one: Exercise):
    assert len(one.right) >= 2
    assert len(one.wrong) >= 3
    assert one.solution_source
    assert f'data-exercise="{one.key}"' in one._repr_html_()
    assert str(one.minutes) in one._repr_html_()
    assert f"`{one.name}(" in one.prompt or f"`{one.name}`" in one.prompt


@each
def test_its_hints_fit_causes_that_its_check_gives(one: Exercise):
    text = "".join(
        path.read_text(encoding="utf-8")
        for path in (one.folder / "check.py", *one.folder.glob("*.toml"))
    )
    known = {answer.expect for answer in one.wrong} | set(re.findall(r"[a-z]+(?:-[a-z]+)*", text))
    for hint in one.hints:
        assert hint.causes and set(hint.causes) <= known, set(hint.causes) - known


@each
def test_starter_is_not_attempted(one: Exercise):
    verdict = one.check(one.made(one.starter))
    assert verdict.outcome == "not attempted"
    assert verdict.because.startswith(
        "Fill in" if does_nothing(one.made(one.starter).__code__) else "Change"
    )


@each
def test_starter_is_the_notebook_s_cell(one: Exercise):
    (lesson,) = folders.NOTEBOOKS.glob(f"{one.key[:2]}_*.ipynb")
    cells = [
        cell
        for cell in nbformat.read(lesson, 4).cells
        if f'exercise("{one.key}").check' in cell.source
    ]
    assert len(cells) == 1
    assert "exercise" in cells[0].metadata.tags
    assert cells[0].source == one.cell


@each_judged
def test_solution_is_right(one: Exercise):
    verdict = one.check(one.made(one.solution_source), size=min(one.size, SMALL), timeout=LATE)
    assert verdict.outcome == "right", repr(verdict)
    assert verdict.figures or verdict.recording.missing


@answers_are_stamped
@pytest.mark.slow
@pytest.mark.parametrize(
    "one",
    [pytest.param(one, id=one.key, marks=marks(one)) for one in exercises() if one.size > SMALL],
)
def test_solution_is_right_at_the_size_of_a_class(one: Exercise):
    assert one.check(one.made(one.solution_source)).outcome == "right"


@answers_are_stamped
@pytest.mark.slow
@each_judged
def test_solution_is_right_where_meters_are_missing(one: Exercise, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sampler, "choose", lambda: sampler.Portable)
    monkeypatch.setattr(maps, "why_not", lambda: "this is a test")
    monkeypatch.setattr(cache, "TIMEOUT_S", 0)
    verdict = one.check(one.made(one.solution_source), size=min(one.size, SMALL), timeout=LATE)
    assert verdict.outcome == "right", repr(verdict)


@answers_are_stamped
@pytest.mark.slow
@answers("right")
def test_another_right_answer_is_right(one: Exercise, answer: Answer):
    verdict = one.check(one.made(answer.source), size=min(one.size, SMALL), timeout=LATE)
    assert verdict.outcome == "right", repr(verdict)


@pytest.mark.measured
def test_a_right_answer_is_right_however_short_its_call():
    """Shorter than the interval between two samples of its memory."""
    hidden = next(one for one in exercises() if one.key == "02.hidden")
    verdicts = [hidden.check(hidden.made(hidden.solution_source), size=64 * KiB) for _ in range(4)]
    assert [verdict.outcome for verdict in verdicts] == ["right"] * 4, repr(verdicts)


@answers_are_stamped
@pytest.mark.slow
@answers("wrong")
def test_a_wrong_answer_meets_its_cause(one: Exercise, answer: Answer):
    # so that the peak lasts long enough to be seen
    enough = 3 * SMALL if answer.expect == "too-much-memory" else SMALL
    limit = SOON if answer.expect == "still-running" else LATE
    verdict = one.check(one.made(answer.source), size=min(one.size, enough), timeout=limit)
    found = verdict.outcome, verdict.cause, bool(verdict.half)
    assert found == ("not yet", answer.expect, answer.half), repr(verdict)


@pytest.mark.parametrize(
    "key", ["01.report", "02.report", "04.report", "05.report", "09.six", "11.report"]
)
def test_what_came_back_is_shown_as_it_prints(key: str):
    """`inside.answers` has made text of it already."""
    check = exercise_files.check(exercise(key).folder)
    explain = check.misjudged if key == "01.report" else check.misread
    with pytest.raises(NotYet, match=r"(returned|got) \[5\]\."):
        explain("[5]", *[(None,) * 4] * (len(signature(explain).parameters) - 1))


def test_format_copies_a_starter_into_its_cell(tmp_path: Path):
    lesson = shutil.copy(next(folders.NOTEBOOKS.glob("02_*.ipynb")), tmp_path)
    assert renew(Path(lesson)) == []
    before = Path(lesson).read_text(encoding="utf-8")
    Path(lesson).write_text(
        before.replace("def copy_small(source, target):", "def copy_all(source, target):")
    )
    assert renew(Path(lesson)) == ["02.chunks"]
    assert Path(lesson).read_text(encoding="utf-8") == before
