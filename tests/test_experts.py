"""The picture of the experts that were needed states its numbers, and refuses impossible shares."""

import pytest
from test_show_ideas import assert_fits

from helpers.lessons.models.experts import experts


def test_it_says_the_share_at_every_doubling_of_the_tokens():
    shown = experts({"even": [0.25, 0.44, 0.58, 0.68, 0.76], "the same two": [0.25] * 5})
    assert "even: 25% after 1, 44% after 2, 68% after 4; the same two: 25% after 1" in shown.alt
    line, marks, *_ = shown.figure.axes[0].lines
    assert list(line.get_xdata()) == [1, 2, 3, 4, 5] and list(line.get_ydata()) == [0.25, 0.44, 0.58, 0.68, 0.76]
    assert list(marks.get_xdata()) == [1, 2, 4] and list(marks.get_ydata()) == [0.25, 0.44, 0.68]
    assert_fits(shown)


@pytest.mark.parametrize(
    ("shares", "complaint"),
    [
        ({}, "0 routers"),
        ({"a": [0.5, 1], "b": [0.5]}, r"2 routers, with \[1, 2\] tokens"),
        ({"a": [0.5]}, "2 or more"),
        ({name: [0.5, 1] for name in "abcde"}, "5 routers"),
        ({"a": [0.5, 1.25]}, "a share of 1.25"),
    ],
)
def test_it_refuses_what_it_cannot_draw(shares: dict[str, list[float]], complaint: str):
    with pytest.raises(ValueError, match=complaint):
        experts(shares)
