"""Pictures of ideas: who keeps what alive, words of memory, where two ways cross. Their words, and whether they fit."""

import ctypes
import gc
import mmap
import re
import sys
import weakref
from itertools import combinations, pairwise
from multiprocessing import shared_memory
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.patches import FancyArrowPatch, Rectangle
from matplotlib.path import Path as Path2D
from matplotlib.text import Text

from helpers.lessons.lifetimes.exports import exports
from helpers.lessons.lifetimes.owners import owners
from helpers.lessons.values.crossover import crossover, crossover_figure, reigns
from helpers.show import memory_words
from helpers.show.figure import Picture
from helpers.units import MiB

COUNTED = sys.implementation.name == "cpython"
LINUX = sys.platform == "linux"


def texts(shown: Picture) -> list[str]:
    return [text.get_text() for text in shown.figure.findobj(Text) if text.get_text()]


def arrows(shown: Picture) -> list[FancyArrowPatch]:
    return [one for one in shown.figure.axes[0].patches if isinstance(one, FancyArrowPatch)]


def line(arrow: FancyArrowPatch) -> np.ndarray:
    """(corners, 2): where an arrow runs, without its head."""
    path = arrow.get_path()
    return path.vertices[: np.flatnonzero(path.codes == Path2D.MOVETO)[1]]


def _undrawn(shown: Picture) -> set[int]:
    """The labels that matplotlib keeps for ticks beyond the axis, and never draws."""
    axes = [axis for ax in shown.figure.axes for axis in (ax.xaxis, ax.yaxis)]
    return {
        id(tick.label1)
        for axis in axes
        for tick in axis.get_major_ticks()
        if not min(axis.get_view_interval()) <= tick.get_loc() <= max(axis.get_view_interval())
    }


def assert_fits(shown: Picture) -> None:
    """Asserts that all text is inside the figure, and that none overlaps other text or the edge of a box."""
    figure = shown.figure
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    words = [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]
    words = [text for text in words if id(text) not in _undrawn(shown)]
    extents = [text.get_window_extent(canvas.get_renderer()).padded(-0.5) for text in words]
    boxes = [one.get_window_extent() for one in figure.axes[0].patches if isinstance(one, Rectangle)]
    page = figure.bbox
    for text, extent in zip(words, extents, strict=True):
        inside = page.x0 <= extent.x0 and extent.x1 <= page.x1 and page.y0 <= extent.y0 and extent.y1 <= page.y1
        assert inside, f"{text.get_text()!r} leaves the page"
        for box in boxes:
            within = box.x0 <= extent.x0 and extent.x1 <= box.x1 and box.y0 <= extent.y0 and extent.y1 <= box.y1
            assert within or not box.overlaps(extent), f"{text.get_text()!r} lies over the edge of a box"
    for (one, first), (other, second) in combinations(zip(words, extents, strict=True), 2):
        assert not first.overlaps(second), f"{one.get_text()!r} lies over {other.get_text()!r}"


# --- who keeps what alive ---------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.bin"
    path.write_bytes(bytes(4 * mmap.PAGESIZE))
    return path


@pytest.fixture
def mapping(file: Path):
    with open(file, "r+b") as opened:
        return mmap.mmap(opened.fileno(), 0)


@pytest.mark.skipif(not (COUNTED and LINUX), reason="counts are CPython's, files below come from /proc")
def test_views_lead_to_one_owner_and_its_file(mapping):
    row, column = np.frombuffer(mapping, "f4", 10, 64), np.frombuffer(mapping, "f4", 100)[::10]
    shown = owners(row=row, column=column, mapping=mapping)
    assert (
        f"row: ndarray, a view of 40 B -> memoryview -> mapping: mmap of {4 * mmap.PAGESIZE // 1024} KiB (2 exports)"
        " -> file model.bin. column: ndarray, a view of 40 B -> ndarray -> memoryview -> the same mapping." in shown.alt
    )
    assert repr(shown) == shown.alt
    written = texts(shown)
    assert written.count("mapping") == 1 and written.count(".obj") == 2 and written.count(".base") == 3
    assert "2\N{NO-BREAK SPACE}exports" in written and f"{row.ctypes.data:#x}" in written and "maps" in written
    assert len(arrows(shown)) == 6 and {one.get_linestyle() for one in arrows(shown)} == {"-"}
    assert_fits(shown)


def test_the_picture_counts_nothing_and_keeps_nothing_alive(mapping):
    class Array(np.ndarray):
        pass

    array = np.zeros(100).view(Array)
    alive, view = weakref.ref(array), memoryview(mapping)
    before = exports(mapping)
    shown = owners(array=array, view=view, mapping=mapping)
    assert exports(mapping) == before
    view.release()
    mapping.close()
    del array, view
    gc.collect()
    assert alive() is None and "Array" in shown.alt


@pytest.mark.skipif(not COUNTED, reason="counts are CPython's")
def test_a_view_around_the_count_is_told_apart(mapping):
    counted, around = np.frombuffer(mapping, np.uint8), np.ndarray(10, np.uint8, buffer=mapping)
    pointer = ctypes.c_void_p(around.ctypes.data)
    shown = owners(counted=counted, around=around, pointer=pointer, mapping=mapping)
    assert "around: ndarray, a view of 10 B -> (not counted) the same mapping." in shown.alt
    assert "pointer: c_void_p, a pointer -> (an address) the same mapping." in shown.alt
    assert "(1 export)" in shown.alt
    assert len({str(one.get_linestyle()) for one in arrows(shown)}) == 3
    assert {"not counted", "not kept", "keeps alive, not counted"} <= set(texts(shown))
    assert_fits(shown)


@pytest.mark.skipif(not COUNTED, reason="counts are CPython's")
def test_a_memmap_is_not_counted_by_its_mapping(file):
    mapped = np.memmap(file, np.uint8, "r")
    shown = owners(mapped=mapped, part=np.asarray(mapped)[8:16])
    assert "ndarray, a view of 8 B -> ndarray -> mapped: memmap -> (not counted) mmap of" in shown.alt
    assert "(0 exports)" in shown.alt
    assert_fits(shown)


@pytest.mark.skipif(not COUNTED, reason="counts are CPython's")
def test_views_whose_bytes_are_gone_are_shown_and_never_read():
    mapping, grown = mmap.mmap(-1, mmap.PAGESIZE), bytearray(64)
    lost, lost_too = np.ndarray(10, np.uint8, buffer=mapping), np.ndarray(64, np.uint8, buffer=grown)
    assert "gone" not in owners(lost=lost, lost_too=lost_too).alt
    mapping.close()
    grown.clear()
    shown = owners(lost=lost, lost_too=lost_too, kept=np.frombuffer(b"abcd", np.uint8))
    assert "lost: ndarray, a view of 10 B (its bytes are gone) -> (not counted) mmap (0 exports, closed)." in shown.alt
    assert "lost_too: ndarray, a view of 64 B (its bytes are gone) -> (not counted) bytearray (0 exports)." in shown.alt
    assert "kept: ndarray, a view of 4 B -> bytes of 4 B." in shown.alt
    assert_fits(shown)


@pytest.mark.skipif(not COUNTED, reason="counts are CPython's")
def test_of_a_shrunk_owner_only_what_is_cut_off_is_gone():
    shrunk = bytearray(4096)
    low, high = (np.ndarray(8, np.uint8, buffer=shrunk, offset=offset) for offset in (0, 4000))
    del shrunk[3000:]
    told = owners(low=low, high=high, shrunk=shrunk).alt
    assert "high: ndarray, a view of 8 B (its bytes are gone) -> (not counted) " in told
    moved = np.frombuffer(shrunk, np.uint8).ctypes.data != low.ctypes.data
    assert moved or "low: ndarray, a view of 8 B -> (not counted) " in told


def test_a_pointer_into_the_memory_of_none_that_is_shown():
    here, there = bytearray(64), np.zeros(64, np.uint8)
    shown = owners(pointer=ctypes.c_void_p(there.ctypes.data), here=here)
    assert "pointer: c_void_p, a pointer. here: bytearray" in shown.alt and not arrows(shown)


def test_shared_memory_leads_through_its_view_to_the_mapping():
    shared = shared_memory.SharedMemory(create=True, size=64)
    try:
        around = np.ndarray(4, np.uint8, buffer=shared.buf)
        shown = owners(shared=shared, view=np.frombuffer(shared.buf, np.uint8), around=around)
        assert "shared: SharedMemory, a block of" in shown.alt and "-> memoryview -> mmap of" in shown.alt
        assert (f"shared memory {shared.name.strip('/')}" in shown.alt) == LINUX
        assert_fits(shown)
    finally:
        shared.close()
        shared.unlink()
    closed = owners(shared=shared, around=around)
    assert re.search(r"shared: SharedMemory, a block of \S+ \S+ \(closed\)", closed.alt)
    assert "around: ndarray, a view of 4 B (its bytes are gone)" in closed.alt or not COUNTED


def test_ctypes_keeps_some_things_and_others_not():
    class Pair(ctypes.Structure):
        _fields_ = (("first", ctypes.c_double), ("second", ctypes.c_double))

    pair, array, buffer = Pair(1, 2), np.arange(4.0), bytearray(16)
    kept = array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    shown = owners(
        pair=pair,
        to=ctypes.pointer(pair),
        kept=kept,
        over=Pair.from_buffer(buffer),
        buffer=buffer,
        null=ctypes.c_void_p(),
    )
    for words in (
        "to: LP_Pair, a pointer -> pair: Pair of 16 B.",
        "kept: LP_c_double, a pointer -> ndarray of 32 B.",
        "over: Pair, a view of 16 B -> memoryview -> buffer: bytearray of 16 B",
        "null: c_void_p, a pointer to nowhere.",
    ):
        assert words in shown.alt
    assert_fits(shown)


def test_every_kind_of_owner_and_a_long_way():
    released = memoryview(b"x")
    released.release()
    strided = np.lib.stride_tricks.as_strided(np.frombuffer(memoryview(b"x" * 72)), (3, 3), (8, 8))
    own = np.arange(10)
    shown = owners(
        "Six objects.", released=released, strided=strided, own=own, same=own, empty=np.zeros(0), text=b"some bytes",
        a_name_that_is_much_longer_than_any_box_could_ever_be_wide=bytearray(8),
    )  # fmt: skip
    assert "released: memoryview, a view (released)." in shown.alt
    assert "own, same: ndarray, owns its 80 B" in shown.alt and "empty: ndarray, owns its 0 B." in shown.alt
    assert "strided: ndarray, a view of 72 B -> DummyArray -> ndarray -> memoryview -> bytes of 72 B." in shown.alt
    assert shown.caption == "Six objects."
    assert_fits(shown)


def test_what_shows_no_bytes_is_refused():
    with pytest.raises(TypeError, match="rows is a list, which shows no bytes: give an array"):
        owners(rows=[1, 2])
    with pytest.raises(ValueError, match=r"name the objects, as in owners\(row=row"):
        owners()


# --- words of memory --------------------------------------------------------------------------------------------

DATA, TABLE = 0x7F12_3456_7890, 0x55D0_AABB_CC00
OBJECT = {
    "fat pointer": [("data", DATA), ("vtable", TABLE)],
    "Scale": [("factor", 0x4000_0000_0000_0000)],
    "vtable of Scale": [("drop", 0x7F00_0000_1000), ("size", 24), ("align", 8), ("infer", 0x7F00_0000_2000)],
}


def test_words_and_what_they_point_to():
    shown = memory_words(OBJECT, "An object.", at={"Scale": DATA, "vtable of Scale": TABLE})
    assert shown.alt == (
        "Memory in words of eight bytes. fat pointer: data 0x7f1234567890, the address of Scale; vtable"
        " 0x55d0aabbcc00, the address of vtable of Scale. Scale (at 0x7f1234567890): factor 0x4000000000000000."
        " vtable of Scale (at 0x55d0aabbcc00): drop 0x7f0000001000; size 0x18 = 24; align 0x8; infer 0x7f0000002000."
    )
    assert {"+0", "+8", "+16", "+24", "0x4000000000000000", "infer"} <= set(texts(shown))
    ends = [line(arrow) for arrow in arrows(shown)]
    boxes = [one for one in shown.figure.axes[0].patches if isinstance(one, Rectangle)]
    assert len(ends) == 2 and len(boxes) == 7
    for path, start, end in zip(ends, (0, 1), (2, 3), strict=True):
        assert boxes[start].get_x() < path[0][0] < boxes[start].get_x() + boxes[start].get_width()
        assert boxes[end].get_x() < path[-1][0] < boxes[end].get_x() + boxes[end].get_width()
    assert_fits(shown)
    assert not arrows(memory_words(OBJECT))


def test_many_words_long_names_and_a_word_that_points_to_itself():
    rows = {
        "many words": [(f"word {i}", DATA if i in (1, 3, 6) else i) for i in range(10)],
        "itself, under a name of many letters": [("a_name_of_a_word_that_is_too_long", DATA), ("largest", 2**64 - 1)],
    }
    shown = memory_words(rows, at={"itself, under a name of many letters": DATA})
    assert len(arrows(shown)) == 4
    assert_fits(shown)
    boxes = [one.get_bbox() for one in shown.figure.axes[0].patches if isinstance(one, Rectangle)]
    for arrow in arrows(shown):
        for (x0, y0), (x1, y1) in pairwise(line(arrow)):
            for box in boxes:
                across = min(x0, x1) < box.x1 - 1 and max(x0, x1) > box.x0 + 1
                down = min(y0, y1) < max(box.y0, box.y1) - 1 and max(y0, y1) > min(box.y0, box.y1) + 1
                assert not (across and down), f"an arrow runs through a box from {x0, y0} to {x1, y1}"


@pytest.mark.parametrize(
    ("rows", "at", "words"),
    [
        ({}, {}, "at least one row"),
        ({"a": []}, {}, "'a' has no words"),
        ({"a": [("b", 2**64)]}, {}, "'b' of 'a' is 18446744073709551616; a word is an int from 0"),
        ({"a": [("b", -1)]}, {}, "'b' of 'a' is -1"),
        ({"a": [("b", 1.5)]}, {}, "'b' of 'a' is 1.5"),
        ({"a": [("b", 1)]}, {"c": 1}, "an address of 'c', but the rows are: a"),
    ],
)
def test_words_that_are_none(rows, at, words):
    with pytest.raises(ValueError, match=words):
        memory_words(rows, at=at)


# --- where two ways cross ---------------------------------------------------------------------------------------

CHANCES = [i / 10 for i in range(11)]


def ways(start: float, end: float, always: float = 1e-3) -> dict[str, dict[float, float]]:
    """Copy on write as a straight line from `start` to `end`, beside a copy that always takes the same time."""
    return {
        "copy always": dict.fromkeys(CHANCES, always),
        "copy on write": {chance: start + chance * (end - start) for chance in CHANCES},
    }


@pytest.mark.parametrize(
    ("methods", "words"),
    [
        (ways(1e-6, 1.08e-3), "copy on write is faster up to 93 %, copy always from there"),
        (ways(1e-6, 0.5e-3), "copy on write is always faster"),
        (ways(1e-6, 1.001e-3), "copy on write is always faster, but at 100 % copy always is as fast"),
        (ways(1.1e-3, 2e-3), "copy always is always faster"),
        (
            ways(0.4e-3, 1.6e-3) | {"share": {chance: 0.9e-3 - 0.2e-3 * chance for chance in CHANCES}},
            "copy on write is the fastest up to 36 %, share from there",
        ),
    ],
)
def test_the_crossing_in_words(methods, words):
    shown = crossover_figure({MiB: methods})
    assert f"1 MiB: {words}." in shown.alt and shown.caption == f"1 MiB: {words}."
    marks = [line for line in shown.figure.axes[0].lines if line.get_markersize() == 9]
    assert len(marks) == words.count("from there")
    assert_fits(shown)


def test_the_crossing_lies_where_the_lines_cross():
    (first, second) = reigns(ways(1e-6, 1.08e-3))
    assert (first.method, second.method) == ("copy on write", "copy always")
    assert first.end == second.start == pytest.approx(999 / 1079)
    noisy = ways(1e-6, 1.001e-3)
    noisy["copy on write"] |= {0.8: 0.99e-3, 0.9: 1.005e-3, 1.0: 0.995e-3}  # the lines coincide: noise is no crossing
    assert [reign.method for reign in reigns(noisy)] == ["copy on write"]


def test_the_ends_and_the_other_sizes_are_told_and_the_prediction_is_dashed():
    points = {"64 MiB": ways(1e-5, 2.5e-2, 2e-2), 1024: ways(1e-6, 2e-6, 2.5e-6)}
    shown = crossover_figure(points, "64 MiB", {"64 MiB": 0.5})
    assert "copy always: 20 ms at 0 %, 20 ms at 100 %. copy on write: 10 µs at 0 %, 25 ms at 100 %." in shown.alt
    assert "Predicted crossing: 50 %. 1 KiB: copy on write is always faster." in shown.alt
    (dashed,) = [line for line in shown.figure.axes[0].lines if line.is_dashed()]
    assert set(dashed.get_xdata()) == {0.5} and "predicted 50 %" in texts(shown)
    assert "predicted" not in " ".join(texts(crossover_figure(points, 1024, {"64 MiB": 0.5})))
    assert shown.figure.axes[0].get_yscale() == "linear"
    assert_fits(shown)
    far = crossover_figure({1024: {"a": {0: 1.0, 1: 2.0}, "b": {0: 0.001, 1: 0.002}}})
    assert far.figure.axes[0].get_yscale() == "log" and "logarithmic" in " ".join(texts(far))
    assert_fits(far)


def test_the_slider_walks_over_the_sizes():
    points = {64 * MiB: ways(1e-5, 2.5e-2, 2e-2), "1 KiB": ways(1e-6, 2e-6, 2.5e-6)}
    shown = crossover(points, 0.9, "Two ways.")
    slider, page = shown.widget.children
    assert [label for label, _ in slider.options] == ["1 KiB", "64 MiB"] and slider.value == 64 * MiB
    assert page.value == shown.picture._repr_html_()
    assert "Two ways. 64 MiB: copy on write is faster up to 80 %" in shown.picture.caption
    before, slider.value = page.value, 1024
    assert page.value == crossover_figure(points, 1024, 0.9, "Two ways.")._repr_html_() != before
    assert page.value == shown.picture._repr_html_()


@pytest.mark.parametrize(
    ("points", "more", "words"),
    [
        ({}, {}, "at least one size"),
        ({1024: {"a": {0: 1, 1: 2}}}, {}, "at 1 KiB there are 1"),
        ({1024: {"a": {0: 1, 1: 2}, "b": {0: 1, 0.5: 2}}}, {}, r"'b' at 1 KiB was measured at \[0, 0.5\]"),
        ({1024: {"a": {0: 1}, "b": {0: 1}}}, {}, "the same two or more"),
        ({1024: {"a": {0: 1, 50: 2}, "b": {0: 1, 50: 2}}}, {}, "a probability of 50; it should be from 0 to 1"),
        ({1024: {"a": {0: 1, 1: 0}, "b": {0: 1, 1: 2}}}, {}, "a time of 0 s"),
        ({1024: ways(1, 2)}, {"predicted": 93}, "the predicted crossing is 93; it should be a probability"),
        ({1024: ways(1, 2)}, {"chosen": "2 KiB"}, "nothing was measured at 2 KiB; there are: 1 KiB"),
    ],
)
def test_points_that_make_no_crossing(points, more, words):
    with pytest.raises(ValueError, match=words):
        crossover_figure(points, **more)
