"""A slider over measurements: its words and marks belong to the chosen position."""

from dataclasses import replace

import pytest
from matplotlib.text import Text

from helpers.lessons.copying.sweep import sweep
from helpers.measure import Comparison, Recording
from helpers.measure.recording import IO
from helpers.show import dial
from helpers.show.dial import dial_figure
from helpers.show.figure import ANONYMOUS, INK
from helpers.units import MiB
from tests.test_show import NO_KINDS, SIZE, recording
from tests.test_show_ideas import assert_fits

COSTS = {
    4: {"a method": 20.0, "a table": 40.0},
    1: {"a method": 10.0, "a table": 40.0},
    64: {"a method": 30.0, "a table": None},
}
NS = {"a method": "ns", "a table": "ns"}


@pytest.fixture
def chunks() -> dict[int, Recording]:
    """Slow with small chunks, slow with large ones, best at 64 KiB; not sorted by size."""
    walls = {2**20: 0.3, 2**12: 0.8, 2**16: 0.2, 2**14: 0.4, 2**24: 0.5}
    return {n: recording(str(n), n / MiB, wall=w, io=IO(read_calls=SIZE // n)) for n, w in walls.items()}


def texts(shown) -> list[str]:
    return [text.get_text() for text in shown.figure.findobj(Text)]


def test_the_chosen_position_is_marked_and_its_numbers_are_said():
    shown = dial_figure("Types", COSTS, NS, 4, "Calls.")
    assert shown.caption == "Calls. Types 4: a method 20 ns (2.0 times its lowest); a table 40 ns."
    assert "Marked: Types 4" in shown.alt and "Types 1: a method 10 ns (its lowest)" in shown.alt
    assert "Types 64: a method 30 ns (3.0 times its lowest); a table not measured here." in shown.alt
    for ax, curve, mark in zip(shown.figure.axes, ([10, 20, 30], [40, 40]), (20, 40), strict=True):
        _, line, ring = ax.lines
        assert list(line.get_ydata()) == curve and line.get_color() == INK
        assert (list(ring.get_xdata()), list(ring.get_ydata())) == ([1], [mark])
        assert ax.get_ylim() == (0, 50) and ax.get_xlabel() == "types"
    assert len(dial_figure("Types", COSTS, NS, 64).figure.axes[1].lines) == 2
    assert_fits(shown)


def test_texts_keep_their_order_and_numbers_are_sorted():
    assert [word for word, _ in dial("Types", COSTS, NS).widget.children[0].options] == ["1", "4", "64"]
    shares = {"all": {"wall": 3.0}, "half": {"wall": 2.0}, "none": {"wall": 2.0}}
    shown = dial("Share", shares, ["wall"], first="half")
    assert [word for word, _ in shown.widget.children[0].options] == list(shares)
    assert "time 2 s (its lowest)" in shown.picture.caption
    alike = dial("Share", {share: {"wall": 2.0} for share in shares}, ["wall"]).picture
    assert alike.caption.strip() == "Share all: time 2 s."


def test_a_kind_of_memory_has_its_colour_whatever_follows_its_name():
    sizes = {n: {"anonymous, lent": 1, "file of anonymous origin": n} for n in (1, 8)}
    shown = dial_figure("Users", sizes, dict.fromkeys(sizes[1], "bytes"), 8)
    assert [ax.lines[1].get_color() for ax in shown.figure.axes] == [ANONYMOUS.edge, INK]


def test_what_is_counted_has_whole_numbers_on_its_axis():
    shown = dial_figure("Yokes", {n: {"mappings": 1} for n in (1, 8)}, {"mappings": "count"}, 8)
    assert not any(tick % 1 for tick in shown.figure.axes[0].get_yticks())


def test_the_slider_changes_the_picture(chunks):
    shown = sweep(chunks)
    slider, page = shown.widget.children
    assert [label for label, _ in slider.options] == ["4 KiB", "16 KiB", "64 KiB", "1 MiB", "16 MiB"]
    assert slider.description == "Chunk size" and slider.readout
    assert slider.value == "64 KiB" and page.value == shown.picture._repr_html_()
    first = shown.picture
    slider.value = "16 MiB"
    assert page.value == shown.picture._repr_html_() != first._repr_html_()
    assert 'alt="' in page.value and "Marked: Chunk size 16 MiB: time 0.5 s (2.5 times its lowest)" in page.value
    assert "Chunk size 64 KiB" in first._repr_html_()


def test_a_sweep_starts_at_the_fastest_whatever_the_sizes_are_called(chunks):
    shown = sweep(chunks).picture
    said = "Chunk size 64 KiB: time 0.2 s (its lowest); anonymous, peak 64 KiB; read calls 4,096. Measured on Linux 6.1"
    assert said in shown.caption and said.partition(" Measured")[0] in shown.alt
    by_words = Comparison({f"{n // 1024} KiB": [one] for n, one in chunks.items()})
    assert sweep(by_words).picture.alt == shown.alt
    assert [ax.lines[1].get_color() for ax in shown.figure.axes] == [INK, ANONYMOUS.edge, INK]
    assert_fits(shown)


def test_what_was_not_measured_is_said(chunks):
    shown = sweep({n: replace(one, **NO_KINDS, io=IO(), wall=None) for n, one in chunks.items()}).picture
    assert texts(shown).count("not measured here") == 3 and "Chunk size 4 KiB: time not measured here;" in shown.alt


def test_many_positions_label_as_many_as_fit():
    many = {f"{n:,} requests": {"wall": 1.0} for n in range(1000, 1040)}
    shown = dial_figure("Load", many, ["wall"], "1,000 requests")
    assert 5 < len(shown.figure.axes[0].get_xticks()) < 10
    assert_fits(shown)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ((COSTS, NS, 2), "Types has no position 2; there are: 1, 4, 64"),
        (({1: COSTS[1]}, NS, 1), "two positions or more, not 1"),
        ((COSTS, ["a method"], 1), "no meter 'a method'; say its unit"),
        ((COSTS, [], 1), "1 to 3 meters, not 0"),
    ],
)
def test_what_cannot_be_drawn_is_refused(given, complaint):
    with pytest.raises(ValueError, match=complaint):
        dial_figure("Types", *given)


def test_a_machine_is_said_once_if_only_its_read_ahead_differs(chunks: dict[int, Recording]):
    there = {n: replace(run, machine=replace(run.machine, read_ahead=n)) for n, run in chunks.items()}
    said = dial_figure("Read-ahead", there, ["wall"], 2**16).caption.partition("Measured on ")[2]
    assert said == f"{replace(there[2**16].machine, read_ahead=None)}."
    elsewhere = there | {2**12: replace(there[2**12], machine=replace(there[2**12].machine, cores=128))}
    assert dial_figure("Read-ahead", elsewhere, ["wall"], 2**16).caption.count("Python") == len(elsewhere)
