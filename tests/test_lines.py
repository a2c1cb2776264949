"""Lines plotted against a number, and alternative text that says the same."""

import pytest

from helpers.lessons.copying.lines import lines

HELD = {"old": {1: 68_240, 8: 138_843, 4: 102_263}, "new": {1: 74_581, 8: 109_542}}


def test_the_alternative_text_has_every_number_in_order():
    shown = lines("workers", HELD, "bytes", "Held", ("published", 172_952), "Recorded.")
    assert shown.alt == (
        "Held, by workers. old: 68,240 bytes at 1, 102,263 bytes at 4, 138,843 bytes at 8. "
        "new: 74,581 bytes at 1, 109,542 bytes at 8. Dashed, published: 172,952 bytes."
    )
    (ax,) = shown.figure.axes
    old, new, level = ax.lines
    assert list(old.get_xdata()) == [1, 4, 8] and list(old.get_ydata()) == [68_240, 102_263, 138_843]
    assert len(new.get_xdata()) == 2 and set(level.get_ydata()) == {172_952} and ax.get_yscale() == "linear"
    assert not any(tick % 2**15 for tick in ax.get_yticks()), "bytes have round numbers of KiB"
    assert ax.get_ylim()[1] > 172_952 and [text.get_text() for text in ax.get_xticklabels()] == ["1", "4", "8"]
    assert shown.caption == "Recorded." and shown.png.startswith(b"\x89PNG")


def test_sizes_stand_on_powers_of_two_and_far_values_on_a_logarithmic_axis():
    shown = lines("chunk size", {"plain": {4096: 0.5, 2**20: 0.2}, "async": {4096: 40, 2**20: 1}}, "seconds", "Time")
    (ax,) = shown.figure.axes
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log") and ax.get_ylim()[0] < 0.2 < 40 < ax.get_ylim()[1]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["4 KiB", "1 MiB"]
    assert "async: 40 s at 4 KiB, 1 s at 1 MiB." in shown.alt


@pytest.mark.parametrize("wrong", [{}, {"a": {1: 2}}, {"a": {1: 2, 2: 0}}, {n: {1: 2, 2: 3} for n in "abcde"}])
def test_what_cannot_be_drawn(wrong: dict):
    with pytest.raises(ValueError, match="take 1 to 4 lines of two points or more, above 0; these have"):
        lines("workers", wrong, "count", "Held")
