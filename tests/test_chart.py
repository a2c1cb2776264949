"""The layout of every chart: rows of a label, cells and words; and a picture for each kind of
cell.
"""

import pytest
from matplotlib.patches import Patch
from pictures import arrows, assert_fits, keys, panels, rectangles, texts

from helpers.show.boxes import Arrow, Box
from helpers.show.cells import Bar, Hills, Panel, Scale
from helpers.show.chart import WIDE, Row, chart
from helpers.show.figure import ANONYMOUS, FILE, Picture, look, paint
from helpers.show.text import PLAIN, shortened, width

LONG = "a name of many words that goes on and on, over several lines, and over more than two"


def drawn(rows: list[Row], **how) -> Picture:
    with look():
        return chart("Some rows of cells", rows, "A caption.", **how)


def box(text: str) -> Box:
    return Box([(text, PLAIN)], FILE)


def test_the_alternative_text_is_the_words_of_the_rows():
    bar = Bar([(1, {})])
    first = Row("a", [bar], ["one", "", "two"])
    shown = drawn([first, Row("b", [bar]), Row("c", [bar], ["three"])])
    assert shown.alt == "Some rows of cells. a: one, two. c: three."
    assert [row.label for row in shown.rows] == ["a", "b", "c"]
    assert shown.caption == "A caption."


def test_bars_of_a_column_share_a_scale_down_to_the_next_heads():
    one, two, again = ([Bar([(n, paint(FILE))], "x")] for n in (1, 2, 1))
    shown = drawn([Row("a", one), Row("b", two), Row("c", again, heads=["again"])])
    first, second, third = (bar.get_width() for bar in rectangles(shown))
    assert (first, third) == pytest.approx((second / 2, second))


def test_bars_with_all_they_can_have_fit():
    parts = [(4, paint(ANONYMOUS)), (3, paint(FILE))]
    text = "7 MiB of which nobody knew\n(you: 5 MiB)"
    bar = Bar(parts, text, "small print", guess=(5, {"fill": False}), numbers=True, strong=True)
    wild = Bar(parts[:1], "4 MiB", guess=(100, {"fill": False}))
    heads = ["one", "the other column"]
    shown = drawn([Row(LONG, [bar, bar], warning="broken", heads=heads), Row("b", [wild, None])])
    assert {"small print", "4", "3", "broken", "the other column"} <= set(texts(shown))
    assert_fits(shown)


def test_histograms_fit_above_their_scale():
    hills = Hills([0, 1, 2, 3], [([1, 0, 5], {"fill": False})], "median 2\nmeasured 1", 2.5, 1)
    scale = Scale({0.5: "0", 1.5: "1", 2.5: "2"})
    shown = drawn([Row("", [hills]), Row("", [scale])])
    assert [one.get_text() for one in shown.figure.axes[0].texts if one.get_text() in "012"]
    assert_fits(shown)


def test_a_box_in_neighbouring_rows_and_columns_is_one_and_arrows_go_around_what_is_between():
    first, second, owner, file = map(box, ("first", "second", "an owner", "a file"))
    rows = [Row("", [first, first, owner]), Row("", [second, None, owner]), Row("", [file])]
    ties = [Arrow(first, owner, ".base", "kept"), Arrow(second, owner, ".obj")]
    around = [Arrow(owner, file, "maps"), Arrow(second, second)]
    shown = drawn(rows, arrows=[*ties, *around], gap=60, between=24)
    outlines = [one for one in rectangles(shown) if one.get_linewidth()]
    assert len(outlines) == 4
    assert outlines[0].get_width() > 2 * outlines[2].get_width()
    assert outlines[1].get_height() > 2 * outlines[0].get_height()
    assert len(arrows(shown)) == 4
    assert_fits(shown)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_panels_are_alike_whatever_is_written_above_them(count: int):
    lines = [Panel(LONG, lambda ax: ax.plot([1, 2]), [("a note", PLAIN)]) for _ in range(count)]
    lines.append(Panel("short", lambda ax: ax.plot([1, 2])))
    shown = drawn([Row("", lines)])
    sizes = {tuple(ax.get_position().size.round(6)) for ax in panels(shown)}
    assert len(sizes) == 1
    assert_fits(shown)


def test_a_long_legend_has_as_many_rows_as_it_needs():
    named = [Patch(label=f"the {n}th of the many keys") for n in range(9)]
    shown = drawn([Row("a", [Bar([(1, {})])])], keys=named)
    assert len(keys(shown)) == 9
    assert len(shown.figure.legends) > 1
    assert_fits(shown)


def test_what_is_too_long_loses_its_middle():
    assert shortened("short", 100) == "short"
    cut = shortened("model.layers.0.weight", 80)
    assert (cut[:4], cut[-3:], cut.count("…")) == ("mode", "ght", 1)
    assert width(cut) <= 80 < WIDE
