"""Lines by a number, and sliders: their marks, scales and alternative texts come from the data."""

from dataclasses import replace

import pytest
from pictures import NO_KINDS, SIZE, assert_fits, panels, recording, texts
from tables import each_of

from helpers.lessons.copying.figures import sweep
from helpers.lessons.values.crossover import crossover, in_sentence
from helpers.measure import Recording
from helpers.measure.recording import IO
from helpers.show import dial, lines
from helpers.show.figure import ANONYMOUS, Picture, paint
from helpers.show.meters import OTHER
from helpers.units import MiB

HELD = {"old": {1: 68_240, 8: 138_843, 4: 102_263}, "new": {1: 74_581, 8: 109_542}}
COSTS = {
    4: {"a method": 20.0, "a table": 40.0},
    1: {"a method": 10.0, "a table": 40.0},
    64: {"a method": 30.0, "a table": None},
}
NS = {"a method": "ns", "a table": "ns"}


# --- lines ----------------------------------------------------------------------------------------
def test_lines_go_through_every_number_in_order():
    shown = lines("workers", HELD, "bytes", "Held", ("published", 172_952), "Recorded.")
    assert (
        "Held, by workers. old: 68,240 bytes at 1, 102,263 bytes at 4, 138,843 bytes at 8."
        in shown.alt
    )
    assert "Dashed, published: 172,952 bytes." in shown.alt
    assert shown.caption == "Recorded."
    (ax,) = panels(shown)
    old, *_, level = ax.lines
    assert list(old.get_xdata()) == [1, 4, 8]
    assert list(old.get_ydata()) == [
        68_240,
        102_263,
        138_843,
    ]
    assert set(level.get_ydata()) == {172_952}
    assert level.is_dashed()
    assert ax.get_ylim()[0] == 0
    assert not any(tick % 2**15 for tick in ax.get_yticks()), "bytes have round numbers of KiB"
    assert_fits(shown)


def test_sizes_stand_on_powers_of_two_and_lines_far_apart_on_a_logarithmic_axis():
    shown = lines(
        "chunk size",
        {"plain": {4096: 0.5, 2**20: 0.2}, "async": {4096: 40, 2**20: 1}},
        "seconds",
        "Time",
    )
    (ax,) = panels(shown)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ax.get_ylim()[0] < 0.2 < 40 < ax.get_ylim()[1]
    assert {"4 KiB", "1 MiB"} <= set(texts(shown))
    assert "async: 40 s at 4 KiB, 1 s at 1 MiB." in shown.alt


@pytest.mark.parametrize(
    "wrong", [{}, {"a": {1: 2}}, {"a": {1: 2, 2: 0}}, {n: {1: 2, 2: 3} for n in "abcde"}]
)
def test_lines_refuse_too_few_points_and_too_many_lines(wrong: dict):
    with pytest.raises(
        ValueError, match="take 1 to 4 lines of two points or more, above 0; these have"
    ):
        lines("workers", wrong, "count", "Held")


def test_of_many_tokens_every_doubling_is_marked_and_told():
    shares = {
        "even": {n: n / 20 for n in range(1, 21)},
        "the same two": dict.fromkeys(range(1, 21), 0.25),
    }
    shown = lines("tokens", shares, "share", "share of the experts needed so far")
    assert (
        "even: 5 % at 1, 10 % at 2, 20 % at 4, 40 % at 8, 80 % at 16. the same two: 25 % at 1"
        in shown.alt
    )
    line, marks, *_ = panels(shown)[0].lines
    assert len(line.get_xdata()) == 20
    assert list(marks.get_xdata()) == [1, 2, 4, 8, 16]
    assert_fits(shown)


# --- where two ways cross -------------------------------------------------------------------------
def ways(start: float, end: float, always: float = 1e-3) -> dict[str, dict[float, float]]:
    """Copy on write as a straight line from `start` to `end`, beside a copy that always takes the
    same time.
    """
    chances = [i / 10 for i in range(11)]
    return {
        "copy always": dict.fromkeys(chances, always),
        "copy on write": {chance: start + chance * (end - start) for chance in chances},
    }


@each_of(
    ("methods", "words"),
    (ways(1e-6, 1.08e-3), "copy on write is faster up to 93 %, copy always from there"),
    (ways(1e-6, 0.5e-3), "copy on write is always faster"),
    (ways(1e-6, 1.001e-3), "copy on write is always faster, but at 100 % copy always is as fast"),
    (ways(1.1e-3, 2e-3), "copy always is always faster"),
)
def test_a_crossing_is_said_and_marked(methods, words: str):
    assert in_sentence(methods) == words
    shown = crossover({MiB: methods}).picture
    assert shown.alt.startswith(f"1 MiB: {words}.")
    assert shown.caption == f"1 MiB: {words}."
    rings = [line for line in panels(shown)[0].lines if line.get_markersize() == 9]
    assert len(rings) == words.count("from there")
    assert [ring.get_xdata()[0] for ring in rings] == [pytest.approx(999 / 1079)] * len(rings)
    assert_fits(shown)


def test_lines_that_coincide_but_for_noise_do_not_cross():
    noisy = ways(1e-6, 1.001e-3)
    noisy["copy on write"] |= {0.8: 0.99e-3, 0.9: 0.995e-3, 1.0: 1.005e-3}
    assert "from there" not in in_sentence(noisy)


def test_the_slider_walks_over_the_sizes_and_a_prediction_is_dashed():
    points = {64 * MiB: ways(1e-5, 2.5e-2, 2e-2), 1024: ways(1e-6, 2e-6, 2.5e-6)}
    shown = crossover(points, {64 * MiB: 0.5}, "Two ways.")
    slider, page = shown.widget.children
    assert [label for label, _ in slider.options] == [
        "1 KiB",
        "64 MiB",
    ]
    assert slider.value == 64 * MiB
    assert "copy on write: 10 µs at 0 %," in shown.picture.alt
    assert "25 ms at 100 %" in shown.picture.alt
    assert "Dashed, predicted: 50 %. 1 KiB: copy on write is always faster." in shown.picture.alt
    (dashed,) = [line for line in panels(shown.picture)[0].lines if line.is_dashed()]
    assert set(dashed.get_xdata()) == {0.5}
    assert_fits(shown.picture)
    before = page.value
    slider.value = 1024
    assert page.value == shown.picture._repr_html_() != before
    assert "predicted" not in shown.picture.alt


def test_a_crossing_needs_two_methods_at_the_same_probabilities():
    for wrong in (
        {"a": {0: 1, 1: 2}},
        {"a": {0: 1, 1: 2}, "b": {0: 1, 0.5: 2}},
        {"a": {0: 1}, "b": {0: 1}},
    ):
        with pytest.raises(ValueError, match="two methods, measured at the same two or more"):
            crossover({1024: wrong})


# --- dials ----------------------------------------------------------------------------------------
@pytest.fixture
def chunks() -> dict[int, Recording]:
    """Slow with small chunks, slow with large ones, best at 64 KiB; not sorted by size."""
    walls = {2**20: 0.3, 2**12: 0.8, 2**16: 0.2, 2**14: 0.4, 2**24: 0.5}
    return {
        n: recording(str(n), n / MiB, wall=w, io=IO(read_calls=SIZE // n)) for n, w in walls.items()
    }


def at(label: str, results, meters, position) -> Picture:
    return dial(label, results, meters, "Calls.", position).picture


def test_the_chosen_position_is_marked_and_its_numbers_are_said():
    shown = at("Types", COSTS, NS, 4)
    assert shown.caption == "Calls. Types 4: a method 20 ns (2.0 times its lowest); a table 40 ns."
    assert "Marked: Types 4" in shown.alt
    assert "Types 1: a method 10 ns (its lowest)" in shown.alt
    last = "Types 64: a method 30 ns (3.0 times its lowest); a table not measured here."
    assert last in shown.alt
    drawn = [[(bar.parts[0][0], bar.strong) for bar in row.cells] for row in shown.rows]
    assert drawn == [
        [(10, False), (40, False)],
        [(20, True), (40, True)],
        [(30, False), (0, False)],
    ]
    assert {bar.most for row in shown.rows for bar in row.cells} == {40}, "one scale for one unit"
    assert_fits(shown)


def test_a_kind_of_memory_has_its_look():
    sizes = {n: {"anonymous, lent": 1, "file of anonymous origin": n} for n in (1, 8)}
    shown = at("Users", sizes, dict.fromkeys(sizes[1], "bytes"), 8)
    looks = [bar.parts[0][1] for bar in shown.rows[0].cells]
    assert looks == [paint(ANONYMOUS), paint(OTHER)]


def test_texts_keep_their_order_and_numbers_are_sorted():
    assert [word for word, _ in dial("Types", COSTS, NS).widget.children[0].options] == [
        "1",
        "4",
        "64",
    ]
    shares = {"all": {"wall": 3.0}, "half": {"wall": 2.0}, "none": {"wall": 2.0}}
    assert [word for word, _ in dial("Share", shares, ["wall"]).widget.children[0].options] == list(
        shares
    )


def test_the_slider_changes_the_picture_and_a_sweep_starts_at_the_fastest(chunks):
    shown = sweep(chunks)
    slider, page = shown.widget.children
    assert [label for label, _ in slider.options] == [
        "4 KiB",
        "16 KiB",
        "64 KiB",
        "1 MiB",
        "16 MiB",
    ]
    assert slider.value == "64 KiB"
    assert page.value == shown.picture._repr_html_()
    assert (
        "64 KiB: time 0.2 s (its lowest); anonymous, peak 64 KiB; read calls 4,096."
        in shown.picture.caption
    )
    assert_fits(shown.picture)
    slider.value = "16 MiB"
    assert page.value == shown.picture._repr_html_()
    assert "Marked: Chunk size 16 MiB: time 0.5 s (2.5 times its lowest)" in page.value


def test_three_panels_are_of_one_size():
    three = {n: {"a": n, "b": 2 * n, "c": 3 * n} for n in (1, 8)}
    shown = at("Types", three, dict.fromkeys("abc", "seconds"), 8)
    assert len({tuple(ax.get_position().size.round(6)) for ax in shown.figure.axes}) == 1
    assert_fits(shown)


def test_what_was_not_measured_is_said(chunks):
    shown = sweep(
        {n: replace(one, **NO_KINDS, io=IO(), wall=None) for n, one in chunks.items()}
    ).picture
    assert "not measured here" in texts(shown)
    assert "Chunk size 4 KiB: time not measured here;" in shown.alt


@each_of(
    ("given", "complaint"),
    ((COSTS, NS, "", 2), "Types has no position 2; there are: 1, 4, 64"),
    (({1: COSTS[1]}, NS), "two positions or more, not 1"),
    ((COSTS, ["a method"]), "no meter 'a method'; say its unit"),
    ((COSTS, []), "1 to 3 meters, not 0"),
)
def test_a_dial_refuses_what_it_cannot_draw(given, complaint: str):
    with pytest.raises(ValueError, match=complaint):
        dial("Types", *given)


def test_a_machine_is_said_once_if_only_its_read_ahead_differs(chunks: dict[int, Recording]):
    alike = {
        n: replace(run, machine=replace(run.machine, read_ahead=n)) for n, run in chunks.items()
    }
    assert at("Read-ahead", alike, ["wall"], 2**16).caption.count("Python") == 1
    other = replace(alike[2**12], machine=replace(alike[2**12].machine, cores=128))
    assert at("Read-ahead", alike | {2**12: other}, ["wall"], 2**16).caption.count("Python") == len(
        alike
    )
