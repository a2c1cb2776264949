"""Quizzes: one right choice each, feedback on every choice, and answers that a measurement confirms."""

import re

import pytest

from helpers import folders
from helpers.teach import quiz
from helpers.teach.quizzes import Quiz, quizzes

each = pytest.mark.parametrize("one", quizzes(), ids=lambda one: one.key)


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
    assert html.startswith('<div class="zc-quiz"') and html.count("<details") == len(one.choices) >= 3
    assert html.count('data-right="yes"') == 1
    assert all(re.search(r"\w{3}", text) for text in re.findall(r"</summary><p>(.*?)</p></details>", html, re.S))
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


def test_feedback_without_a_mouse():
    one = quiz("02.counter")
    assert one.feedback("b").startswith("Yes.") and one.feedback("(B)") == one.feedback("b")
    with pytest.raises(ValueError, match="there are: a, b, c, d"):
        one.feedback("z")
