"""Quizzes: one right choice each, feedback on every choice, and answers that a measurement
confirms.
"""

import re
from pathlib import Path

import pytest

from helpers import folders
from helpers.teach import quiz, state
from helpers.teach.quizzes import Quiz, quizzes

each = pytest.mark.parametrize("one", quizzes(), ids=lambda one: one.key)


@pytest.mark.measured
@each
def test_the_marked_answer_is_the_measured_one(one: Quiz):
    if one.answer is None:
        pytest.skip("a question of words: nothing to measure")
    found = one.answer()
    if found is None:
        pytest.skip("this machine lacks the meter")
    assert one.choices[found].right, f"measured: {one.choices[found].text}"


@each
def test_every_choice_opens_to_its_feedback(one: Quiz):
    html = one._repr_html_()
    assert html.startswith('<div class="zc-quiz"')
    assert html.count("<details") == len(one.choices) >= 3
    assert html.count('data-right="yes"') == 1
    told = re.findall(r"</summary><p><strong [^>]*>(.*?)</strong> (.*?)</p></details>", html, re.S)
    assert [came for came, _ in told] == [
        "✓ Right." if each.right else "✗ Not this one." for each in one.choices
    ]
    assert all(re.search(r"\w{3}", text) and not text.startswith("Yes") for _, text in told)
    assert "Click an answer." in html
    assert " open>" not in html
    assert all(choice.text.split("`")[0] in repr(one) for choice in one.choices)
    assert "right" not in repr(one).splitlines()[1]


@each
def test_its_lesson_shows_it(one: Quiz):
    lesson = next(folders.NOTEBOOKS.glob(f"{one.key[:2]}_*.ipynb")).read_text(encoding="utf-8")
    assert f'quiz(\\"{one.key}\\")' in lesson


def test_keys_are_unique_and_an_unknown_one_lists_what_there_is():
    keys = [one.key for one in quizzes()]
    assert len(set(keys)) == len(keys)
    with pytest.raises(ValueError, match=r"no quiz '02.countr'; did you mean '02.counter'"):
        quiz("02.countr")


@pytest.fixture
def a_student(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZERO_COPY_STATE", str(tmp_path))


def shown(one: Quiz) -> list[str]:
    """What is in sight below each button."""
    return [re.sub("<[^>]*>", "", child.value) for child in one.widget.children[2::2]]


def test_what_is_clicked_is_marked_and_kept(a_student: None):
    one = quiz("02.counter")
    buttons = one.widget.children[1::2]
    assert [button.description[:4] for button in buttons] == ["(a) ", "(b) ", "(c) ", "(d) "]
    assert not any(shown(one))
    assert not one.clicked
    for at in (2, 1, 1):
        buttons[at].click()
        assert one.solved == (at == 1)
    first, right, wrong, last = shown(quiz("02.counter"))
    assert shown(one) == [first, right, wrong, last]
    assert not first
    assert not last
    assert right.startswith("✓ Right. The mapping")
    assert wrong.startswith("✗ Not this one. It counts")
    assert quiz("02.counter").clicked == "cb"
    assert quiz("02.counter").solved
    assert re.findall(r"<details[^>]* open><summary[^>]*>\((.)", one._repr_html_()) == ["b", "c"]


@pytest.mark.parametrize("found", [2, {"b": 1}, [["b"]], "bz"])
def test_what_is_no_answer_is_none(a_student: None, found: object):
    state.keep("quizzes", "02.counter", found)
    assert not quiz("02.counter").clicked


def test_feedback_without_a_mouse(a_student: None):
    one = quiz("02.counter")
    assert one.feedback("b").startswith("Right. The")
    assert one.feedback("(B)") == one.feedback("b")
    assert one.clicked == "b"
    assert shown(one)[1].startswith("✓ Right.")
    with pytest.raises(ValueError, match="there are: a, b, c, d"):
        one.feedback("z")
