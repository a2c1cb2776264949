"""Page films: every page is drawn once, in its look, and the words give every figure."""

from dataclasses import replace
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.patches import PathPatch
from pictures import HERE, arrows, assert_fits, texts

from helpers.measure.cache import PageCache
from helpers.measure.explorer import Film, Step
from helpers.measure.pages import PageMap, PageState
from helpers.show import page_film, page_tables
from helpers.show.chart import WIDE
from helpers.show.figure import LOOKS, Picture

ABSENT, FILE, SHARED, ANONYMOUS, FORKED, SWAPPED = PageState
NONE = PageMap(None, why="no page map on this system")
ALL = slice(0, 16)


def pages(count: int, **states) -> PageMap:
    """`pages(16, FILE=slice(0, 3), ANONYMOUS=[5])`: the rest is absent."""
    array = np.zeros(count, np.uint8)
    for name, where in states.items():
        array[where] = PageState[name]
    return PageMap(array)


def cached(count: int, where=()) -> PageCache:
    array = np.zeros(count, bool)
    array[where if isinstance(where, slice) else list(where)] = True
    return PageCache(Path("weights.bin"), count * 4096, array)


def cells(shown: Picture, state: PageState) -> np.ndarray:
    """(n, 4) left, top, right, bottom of every rectangle of that state, in the page's pixels."""
    wanted = matplotlib.colors.to_rgba(LOOKS[state].face)
    patches = [p for p in shown.figure.axes[0].findobj(PathPatch) if p.get_facecolor() == wanted]
    corners = [patch.get_path().vertices.reshape(-1, 5, 2) for patch in patches]
    corners = np.concatenate(corners) if corners else np.empty((0, 5, 2))
    return np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)


def changed(shown: Picture) -> list[list[int] | None]:
    """The pages that are outlined in each grid."""
    grids = [grid for row in shown.rows for grid in row.cells]
    return [None if one.changed is None else np.flatnonzero(one.changed).tolist() for one in grids]


# --- one grid -------------------------------------------------------------------------------------
@pytest.mark.parametrize("count", [1, 17, 8192])
def test_every_page_is_one_cell_in_the_look_of_its_state(count: int):
    states = np.random.default_rng(count).integers(0, len(PageState), count, dtype=np.uint8)
    shown = page_film({"mine": PageMap(states)})
    drawn = [cells(shown, state) for state in PageState]
    assert [len(one) for one in drawn] == [int((states == state).sum()) for state in PageState]
    every = np.concatenate(drawn)
    assert len({tuple(cell[:2]) for cell in every}) == count
    assert every[:, 2].max() <= WIDE
    # from left to right, and from top to bottom
    order = np.lexsort((every[:, 0], every[:, 1]))
    assert np.repeat(PageState, [len(one) for one in drawn])[order].tolist() == states.tolist()


def test_what_does_not_fit_is_put_together_and_a_single_page_stays_visible():
    shown = page_film({"mine": pages(262_144, FILE=slice(0, 131_072), ANONYMOUS=[70_000, 200_000])})
    assert "mine: 2 anonymous (70000, 200000), 131,071 file-backed" in shown.alt
    assert "each cell: 128 pages" in texts(shown)
    rare = cells(shown, ANONYMOUS)
    whole = cells(shown, ABSENT)
    heights = rare[:, 3] - rare[:, 1]
    assert len(rare) == 2
    assert (heights >= 0.1 * (whole[:, 3] - whole[:, 1]).max()).all()


def test_a_page_cache_has_its_own_words_and_dirty_pages_a_mark():
    dirty = replace(cached(64, range(16)), dirty=3, dirty_pages=np.isin(np.arange(64), [2, 3, 9]))
    shown = page_film({"mine": dirty})
    assert shown.alt == "mine: 16 cached (0 to 15), 48 not cached, 3 dirty (2 to 3, 9)."
    (marks,) = [line for line in shown.figure.axes[0].lines if line.get_marker() == "o"]
    assert len(marks.get_xydata()) == 3
    assert "dirty: not on the disk yet" in texts(shown)
    assert page_film({"mine": replace(dirty, dirty_pages=None)}).alt.endswith("3 dirty.")


def test_the_words_give_counts_and_pages():
    shown = page_film(
        {"after write 5": pages(16, FILE=slice(0, 4), ANONYMOUS=[5], FORKED=[7, 9, 10])}
    )
    counts = (
        "1 anonymous (page 5), 3 anonymous, still shared (7, 9 to 10), 4 file-backed (0 to 3), 8 "
        "absent"
    )
    assert shown.alt == f"after write 5: {counts}."
    assert {"after write 5", "anonymous, still shared"} <= set(texts(shown))


def test_more_pages_are_not_more_things_to_draw():
    few, many = (
        page_film({"mine": pages(n, FILE=slice(0, n // 2), ANONYMOUS=[1])}) for n in (256, 4096)
    )
    assert len(many.figure.axes[0].get_children()) <= len(few.figure.axes[0].get_children())


@pytest.mark.parametrize(
    "one", [NONE, PageCache(Path("weights.bin"), 4096, None, "no page map on this system")]
)
def test_what_was_not_measured_is_a_panel_that_gives_the_reason(one):
    shown = page_film({"elsewhere": one})
    assert shown.alt == "elsewhere: not measured here: no page map on this system."
    assert "not measured here: no page map on this system" in texts(shown)
    assert not any(len(cells(shown, state)) for state in LOOKS)


def test_looks_differ_in_grey_and_in_more_than_colour():
    assert len({LOOKS[state].hatch for state in (ANONYMOUS, FORKED, SWAPPED, SHARED, FILE)}) == 5
    faces = [LOOKS[state].face for state in (FILE, ANONYMOUS, SHARED, ABSENT)]
    grey = sorted(np.dot(matplotlib.colors.to_rgb(face), (0.299, 0.587, 0.114)) for face in faces)
    assert min(np.diff(grey)) > 0.08


# --- the film -------------------------------------------------------------------------------------
@pytest.fixture
def film() -> Film:
    steps = [
        Step("map", pages(16), cached(16), None, 0, 0, 0),
        Step("touch 3", pages(16, FILE=ALL), cached(16, ALL), None, 0, 1, 65536, 3),
        Step("write 5", pages(16, FILE=ALL, ANONYMOUS=[5]), cached(16, ALL), None, 1, 0, 0),
        Step(
            "fork",
            pages(16, FILE=ALL, FORKED=[5]),
            cached(16, ALL),
            pages(16, FORKED=[5]),
            0,
            0,
            0,
        ),
    ]
    return Film(steps, HERE)


def test_a_film_has_a_sentence_and_a_row_of_cells_for_each_step(film: Film):
    shown = page_film(film, "Four steps.")
    for words in (
        "map: my page table 16 absent; the page cache 16 not cached; no faults. ",
        (
            "touch 3: my page table 16 file-backed; the page cache 16 cached; 1 major fault, 64 "
            "KiB from the device"
        ),
        (
            "write 5: my page table 1 anonymous (page 5), 15 file-backed; the page cache 16 "
            "cached; 1 minor fault."
        ),
        "the child's page table 1 anonymous, still shared (page 5), 15 absent; no faults.",
    ):
        assert words in shown.alt
    assert shown.caption == f"Four steps. Measured on {HERE}."
    assert {"touch 3", "1 major fault", "byte read: 3", "my page table"} <= set(texts(shown))
    assert sum(len(cells(shown, state)) for state in LOOKS) == (4 + 4 + 1) * 16
    assert len(cells(shown, FORKED)) == 2
    assert "the child's page table" in texts(shown)
    two_columns = texts(page_film(film[:3]))
    assert {"0", "15"} <= set(two_columns)
    assert "child" not in " ".join(two_columns)


def test_what_a_step_changed_is_outlined(film: Film):
    shown = page_film(film[1:3])
    assert changed(shown) == [None, None, [5], None]
    assert "changed" in texts(shown)
    assert "changed" not in texts(page_film([film[1], film[1]]))


@pytest.mark.parametrize(("count", "steps"), [(16, 8), (4096, 3), (100_000, 2)])
def test_films_of_all_sizes_fit(count: int, steps: int):
    half = pages(count, FILE=slice(0, count // 2))
    whole = cached(count, slice(0, count))
    one = Step("scan", half, whole, pages(count), 1, 1, 0)
    shown = page_film([replace(one, action=f"scan number {i}") for i in range(steps)])
    assert shown.alt.count("1 major fault and 1 minor fault") == steps
    drawn = cells(shown, FILE)
    assert (drawn[:, 2] - drawn[:, 0]).min() >= 3
    assert_fits(shown)


def test_maps_by_name_are_outlined_where_they_differ_from_before():
    now = {"mine": pages(16, FILE=[1, 2]), "new": pages(16)}
    then = {"mine": pages(16, FILE=[1])}
    assert changed(page_film(now, before=then)) == [[2], None]
    assert changed(page_film(now, before=now)) == [None, None]


def test_a_film_from_elsewhere_says_what_is_missing():
    shown = page_film(
        [Step("touch 3", NONE, PageCache(Path("weights.bin"), 65536, None, "no cache map either"))]
    )
    assert (
        "the page cache not measured here: no cache map either; faults not measured here."
        in shown.alt
    )


def test_a_film_needs_a_step():
    with pytest.raises(ValueError, match="nothing to show: the film holds no step"):
        page_film([])


# --- page tables ----------------------------------------------------------------------------------
def test_page_tables_point_at_what_both_have_and_each_at_its_own():
    mine = pages(6, FILE=[0, 1], ANONYMOUS=[2], FORKED=[3])
    shown = page_tables(
        Step("fork", mine, cached(6), pages(6, FILE=[1], ANONYMOUS=[0], FORKED=[3]))
    )
    assert {row.label: [n for n, box in enumerate(row.cells) if box] for row in shown.rows} == {
        "my own pages": [2],
        "my page table": list(range(6)),
        "the page cache": [0, 1],
        "pages of both": [3],
        "the child's page table": list(range(6)),
        "the child's own pages": [0],
    }
    ways = [arrow.get_path().get_extents() for arrow in arrows(shown)]
    assert len(ways) == 7
    assert max(way.width for way in ways) < 10  # straight up or down
    assert "my page table: 1 anonymous (page 2), 1 anonymous, still shared (page 3)" in shown.alt
    assert_fits(shown)


def test_page_tables_need_a_machine_that_shows_them():
    with pytest.raises(ValueError, match="there is no page table to draw: no page map on this"):
        page_tables(Step("map", NONE, cached(6)))
