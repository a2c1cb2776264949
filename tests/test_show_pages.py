"""Pictures of pages and of reading: every page is drawn once, in its look, and the words give every figure."""

import mmap
from dataclasses import replace
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.patches import FancyArrowPatch, PathPatch

from helpers.lessons.reading.quadrants import quadrants
from helpers.measure import Recording
from helpers.measure.cache import PageCache, page_cache
from helpers.measure.film import Film, Step
from helpers.measure.machine import Machine
from helpers.measure.pages import PageMap, PageState, page_map
from helpers.measure.recording import IO, Faults, Switches
from helpers.show import copy_paths, page_film
from helpers.show.cells import DOT, LOOKS, WIDE, Layout, Seen
from helpers.show.figure import INK, Picture
from helpers.show.pages import BETWEEN, MARGIN, TEXT
from helpers.units import MiB

ABSENT, FILE, SHARED, ANONYMOUS, FORKED, SWAPPED = PageState
HERE = Machine("Linux 6.1", "a processor", 2, 8 * 2**30, "3.12.1", 4096, "ext4", 131072)
ROOM = WIDE - 2 * MARGIN - TEXT - BETWEEN  # for a film with one column
NONE = PageMap(None, why="no page map on this system")


def pages(count: int, **states) -> PageMap:
    """`pages(16, FILE=slice(0, 3), ANONYMOUS=[5])`: the rest is absent."""
    made = np.zeros(count, np.uint8)
    for name, where in states.items():
        made[where] = PageState[name]
    return PageMap(made)


def cached(count: int, where=()) -> PageCache:
    made = np.zeros(count, bool)
    made[where if isinstance(where, slice) else list(where)] = True
    return PageCache(Path("weights.bin"), count * 4096, made)


def texts(shown) -> str:
    return " ".join(text.get_text().replace("\n", " ") for text in shown.figure.findobj(matplotlib.text.Text))


def boxes(shown, face: str) -> np.ndarray:
    """(n, 4) left, top, right, bottom of every rectangle of that colour, in dots."""
    wanted = matplotlib.colors.to_rgba(face)
    found = [
        patch.get_path().vertices.reshape(-1, 5, 2)
        for patch in shown.figure.axes[0].findobj(PathPatch)
        if patch.get_facecolor() == wanted
    ]
    corners = np.concatenate(found) if found else np.empty((0, 5, 2))
    return np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)


def areas(rectangles: np.ndarray) -> np.ndarray:
    left, top, right, bottom = rectangles.T
    return (right - left) * (bottom - top)


def grid(pages: PageMap | PageCache, name: str = "mine") -> Picture:
    """A film with a single row."""
    return page_film({name: pages})


# --- one grid -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("count", [1, 3, 16, 17, 256, 1000, 4096, 8192])
def test_every_page_is_one_cell_in_the_look_of_its_state(count):
    states = np.random.default_rng(count).integers(0, len(PageState), count, dtype=np.uint8)
    shown = grid(PageMap(states))
    found = {state: boxes(shown, LOOKS[state].face) for state in PageState}
    assert {state: len(of) for state, of in found.items()} == {s: int((states == s).sum()) for s in PageState}
    cells = np.concatenate(list(found.values()))
    assert len({tuple(cell[:2]) for cell in cells}) == count and len(set(areas(cells))) == 1
    tall = shown.figure.get_figheight() * 96 * DOT
    assert cells[:, :2].min() >= 0 and cells[:, 2].max() <= WIDE and cells[:, 3].max() <= tall


def test_cells_stand_in_the_order_of_the_pages():
    shown = grid(pages(256, ANONYMOUS=[0, 33, 255]))
    file, one = boxes(shown, LOOKS[ABSENT].face), boxes(shown, LOOKS[ANONYMOUS].face)
    layout = Layout.of(Seen(pages(256)), ROOM)
    assert layout.columns == 32 and layout.rows == 8
    rows, columns = (np.unique(np.concatenate([file, one])[:, at]) for at in (1, 0))
    assert [(list(rows).index(y), list(columns).index(x)) for x, y, *_ in one] == [(0, 0), (1, 1), (7, 31)]


def test_the_words_give_counts_and_pages():
    shown = grid(pages(16, FILE=slice(0, 4), ANONYMOUS=[5], FORKED=[7, 9, 10]), "after write 5")
    assert shown.alt == (
        "after write 5: 1 anonymous (page 5), 3 anonymous, still shared (7, 9 to 10), 4 file-backed (0 to 3), 8 absent."
    )
    assert "after write 5" in texts(shown) and "anonymous, still shared" in texts(shown)


def test_a_page_cache_is_shown_in_its_own_words():
    dirty = replace(cached(64, range(16)), dirty=3, dirty_pages=np.isin(np.arange(64), [2, 3, 9]))
    shown = grid(dirty)
    told = "mine: 16 cached (0 to 15), 48 not cached, 3 dirty"
    assert shown.alt == f"{told} (2 to 3, 9)." and "dirty: not on the disk yet" in texts(shown)
    (marks,) = [line for line in shown.figure.axes[0].lines if line.get_marker() == "o"]
    inside = [
        (one[:2] < spot).all() and (spot < one[2:]).all()
        for spot in marks.get_xydata()
        for one in boxes(shown, LOOKS[FILE].face)
    ]
    assert sum(inside) == 3
    assert grid(replace(dirty, dirty_pages=None)).alt == f"{told}."
    assert len(boxes(shown, LOOKS[FILE].face)) == 16 and "absent" not in texts(shown)


def test_what_does_not_fit_is_put_together_and_a_single_page_stays_visible():
    many = pages(262_144, FILE=slice(0, 131_072), ANONYMOUS=[70_000, 200_000])
    shown = grid(many)
    each = Layout.of(Seen(many), ROOM).each
    assert "mine: 2 anonymous (70000, 200000), 131,071 file-backed" in shown.alt
    assert f"Each cell stands for {each} pages." in shown.caption and each > 1
    rare, absent = boxes(shown, LOOKS[ANONYMOUS].face), boxes(shown, LOOKS[ABSENT].face)
    whole = areas(absent).max()
    assert len(rare) == 2 and (areas(rare) >= 0.1 * whole).all()
    drawn = sum(areas(boxes(shown, look.face)).sum() for look in LOOKS.values())
    assert drawn == pytest.approx(whole * -(-len(many.states) // each))


def test_more_pages_are_not_more_things_to_draw():
    few, many = (grid(pages(n, FILE=slice(0, n // 2), ANONYMOUS=[1])) for n in (256, 4096))
    assert len(many.figure.axes[0].get_children()) <= len(few.figure.axes[0].get_children())


@pytest.mark.parametrize("one", [NONE, PageCache(Path("weights.bin"), 4096, None, "no page map on this system")])
def test_what_was_not_measured_is_a_panel_that_says_why(one):
    shown = grid(one, "elsewhere")
    assert shown.alt == "elsewhere: not measured here: no page map on this system."
    assert "not measured here: no page map on this system" in texts(shown)
    assert not any(len(boxes(shown, look.face)) for look in LOOKS.values())


def test_looks_differ_in_more_than_colour():
    hatches = {state: look.hatch for state, look in LOOKS.items()}
    assert len({hatches[state] for state in (ANONYMOUS, FORKED, SWAPPED, SHARED, FILE)}) == 5
    grey = [np.dot(matplotlib.colors.to_rgb(LOOKS[s].face), (0.299, 0.587, 0.114)) for s in (FILE, ANONYMOUS, ABSENT)]
    assert min(np.diff(grey)) > 0.15


def test_a_real_mapping_is_shown_as_the_kernel_has_it(tmp_path):
    path = tmp_path / "weights.bin"
    path.write_bytes(bytes(16 * mmap.PAGESIZE))
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as mapping:
        mapping[5 * mmap.PAGESIZE] = 1
        found, cache = page_map(mapping), page_cache(path)
    shown = page_film({"mine": found, "cache": cache})
    if found.states is None:
        assert "mine: not measured here" in shown.alt
    else:
        assert "mine: 1 anonymous (page 5)" in shown.alt and len(boxes(shown, LOOKS[ANONYMOUS].face)) == 1


# --- the film -------------------------------------------------------------------------------------------------
@pytest.fixture
def film() -> Film:
    every = slice(0, 16)
    return Film(
        [
            Step("map", pages(16), cached(16), None, 0, 0, 0),
            Step("touch 3", pages(16, FILE=every), cached(16, every), None, 0, 1, 65536, 3),
            Step("write 5", pages(16, FILE=every, ANONYMOUS=[5]), cached(16, every), None, 1, 0, 0),
            Step("fork", pages(16, FILE=every, FORKED=[5]), cached(16, every), pages(16, FORKED=[5]), 0, 0, 0),
        ],
        HERE,
    )


def test_a_film_says_a_sentence_a_step(film):
    shown = page_film(film, "Four steps.")
    assert shown.alt.startswith("map: my page table 16 absent; the page cache 16 not cached; no faults. touch 3: ")
    assert "touch 3: my page table 16 file-backed; the page cache 16 cached; 1 major fault, 64 KiB from" in shown.alt
    assert "write 5: my page table 1 anonymous (page 5), 15 file-backed; the page cache 16 cached; 1 minor" in shown.alt
    assert "the child's page table 1 anonymous, still shared (page 5), 15 absent; no faults." in shown.alt
    assert shown.caption == f"Four steps. Measured on {HERE}."
    for words in ("touch 3", "1 major fault", "64 KiB from the device", "byte read: 3", "my page table"):
        assert words in texts(shown)


def test_the_child_has_a_column_where_there_is_a_child(film):
    assert "the child's page table" in texts(page_film(film))
    assert "child" not in texts(page_film(film[:3]))


def test_a_film_draws_every_page_of_every_step(film):
    shown = page_film(film)
    count = sum(len(boxes(shown, look.face)) for look in LOOKS.values())
    assert count == (4 + 4 + 1) * 16 and len(boxes(shown, LOOKS[FORKED].face)) == 2


def test_what_a_step_changed_is_outlined(film):
    shown = page_film(film[1:3])
    (cell,), lines = boxes(shown, LOOKS[ANONYMOUS].face), boxes(shown, INK)
    left, top, right, bottom = *lines[:, :2].min(axis=0), *lines[:, 2:].max(axis=0)
    gap = cell[0] - left
    assert 0 < gap < 10 and (left, top, right, bottom) == (*(cell[:2] - gap), *(cell[2:] + gap))
    assert "changed" in texts(shown)
    still = page_film([film[1], film[1]])
    assert not len(boxes(still, INK)) and "changed" not in texts(still)


def test_a_stretch_that_changed_has_one_outline(film):
    lines, cells = boxes(page_film(film[:2]), INK), boxes(page_film(film[:2]), LOOKS[FILE].face)
    inside = [line for line in lines for cell in cells if (line[:2] < cell[2:]).all() and (cell[:2] < line[2:]).all()]
    assert len(lines) == 2 * (2 * 16 + 2) and not inside  # above, below, and at the two ends; in both columns


@pytest.mark.parametrize(("count", "steps"), [(16, 8), (256, 4), (4096, 3), (100_000, 2)])
def test_films_of_all_sizes_stay_on_the_page(count, steps):
    one = Step("scan", pages(count, FILE=slice(0, count // 2)), cached(count, slice(0, count)), pages(count), 1, 1, 0)
    shown = page_film([replace(one, action=f"scan number {i}") for i in range(steps)])
    cells = np.concatenate([boxes(shown, look.face) for look in LOOKS.values()])
    assert cells[:, 0].min() >= 0 and cells[:, 2].max() <= WIDE
    assert (cells[:, 2] - cells[:, 0]).min() >= 3 * DOT  # a cell and its gap take at least 4 of the page's pixels
    assert shown.alt.count("scan number") == steps


def test_a_film_from_elsewhere_says_what_is_missing():
    missing = PageCache(Path("weights.bin"), 65536, None, "no cache map either")
    shown = page_film([Step("touch 3", NONE, missing)])
    assert "not measured here: no page map on this system" in texts(shown)
    assert "the page cache not measured here: no cache map either; faults not measured here." in shown.alt


def test_maps_by_name_are_a_grid_each():
    shown = page_film({"mine": pages(16, FILE=slice(0, 16)), "theirs": pages(16, SHARED=[1]), "file": cached(16, [2])})
    assert shown.alt == "mine: 16 file-backed. theirs: 1 shared memory (page 1), 15 absent. file: 1 cached (page 2), " \
                        "15 not cached."  # fmt: skip
    assert len(boxes(shown, LOOKS[FILE].face)) == 17 and not len(boxes(shown, INK))


def test_maps_by_name_are_outlined_where_they_differ_from_before():
    now, then = {"mine": pages(16, FILE=[1, 2]), "new": pages(16)}, {"mine": pages(16, FILE=[1])}
    shown = page_film(now, before=then)
    lines, (_, cell) = boxes(shown, INK), boxes(shown, LOOKS[FILE].face)
    assert len(lines) == 4 and "changed" in texts(shown)
    assert (lines[:, :2].min(axis=0) < cell[:2]).all() and (lines[:, 2:].max(axis=0) > cell[2:]).all()
    assert not len(boxes(page_film(now, before=now), INK))


def test_grids_of_different_size_say_up_to():
    both = page_film({"large": pages(100_000), "small": pages(16)})
    assert "Each cell stands for up to " in both.caption
    assert "up to" not in page_film({"large": pages(100_000)}).caption


def test_a_picture_leaves_its_figure_as_it_was():
    shown = grid(pages(16))
    usual = shown.figure.dpi
    assert shown.png and shown.figure.dpi == usual


@pytest.mark.parametrize("nothing", [{}, [], Film([])])
def test_a_film_needs_a_step(nothing):
    with pytest.raises(ValueError, match="nothing to show: the film holds no step"):
        page_film(nothing)


# --- reading: two questions at once, and the way of a byte ----------------------------------------------------
def run(name: str, wall: float | None, **more) -> Recording:
    series = {kind: np.array([0, more.pop(kind, 0) * MiB]) for kind in ("anonymous", "file", "shared")}
    given = {"times": np.array([0, wall or 0.0]), "resident": sum(series.values()), "machine": HERE, "wall": wall}
    return Recording(name, **(given | series | more))


@pytest.fixture
def four() -> dict[tuple[str, str], dict[str, Recording]]:
    walls = {
        ("sequential", "cold"): (0.4, 0.3), ("sequential", "warm"): (0.1, 0.2),
        ("random", "cold"): (1.5, 0.9), ("random", "warm"): (0.3, 0.5),
    }  # fmt: skip
    return {
        pair: {
            "read": run("read", read, io=IO(1024, 0, 0, 0, 7 * MiB), faults=Faults(10, 0)),
            "map": run("map", lent, io=IO(1, 0, 0, 0, 9 * MiB), faults=Faults(4000, 113)),
        }
        for pair, (read, lent) in walls.items()
    }


def test_quadrants_say_every_figure_and_mark_the_fastest(four):
    shown = quadrants(four, "Two questions.")
    assert "sequential, cold, map: 0.3 s, the fastest, 9 MiB from device, 4,113 faults, 1 call." in shown.alt
    assert "sequential, cold, read: 0.4 s, 7 MiB from device, 10 faults, 1,024 calls." in shown.alt
    assert shown.alt.count("the fastest") == texts(shown).count("fastest") == 4
    assert "9 MiB from device · 4,113 faults · 1 call" in texts(shown)
    assert [ax.get_title(loc="left") for ax in shown.figure.axes] == [f"{row}, {column}" for row, column in four]
    bars = [[bar.get_width() for bar in ax.patches] for ax in shown.figure.axes]
    assert bars == [[one.wall for one in methods.values()] for methods in four.values()]
    assert shown.caption == f"Two questions. Measured on {HERE}."


def test_quadrants_have_a_scale_each_from_zero_and_say_so(four):
    shown = quadrants(four | {("random", "cold"): {"read": run("read", 30), "map": run("map", 9)}})
    assert {(ax.get_xscale(), ax.get_xlim()[0]) for ax in shown.figure.axes} == {("linear", 0)}
    ends = [ax.get_xlim()[1] for ax in shown.figure.axes]
    assert ends == pytest.approx([1.6 * wall for wall in (0.4, 0.2, 30, 0.5)])
    assert "time, s; each panel has its own scale" in texts(shown) and "each with its own scale" in shown.alt


def test_a_run_that_failed_or_was_not_measured_is_not_the_fastest(four):
    four["random", "warm"] |= {"broken": run("broken", 0.01, ended="SIGBUS"), "elsewhere": run("elsewhere", None)}
    shown = quadrants(four)
    assert "random, warm, broken: 0.01 s, " in shown.alt and "not measured here, ended by SIGBUS." in shown.alt
    assert "random, warm, elsewhere: not measured here, from device not measured here, faults not measured" in shown.alt
    assert "random, warm, read: 0.3 s, the fastest" in shown.alt and "ended by SIGBUS" in texts(shown)


def test_quadrants_need_two_rows_and_two_columns(four):
    with pytest.raises(ValueError, match=r"nothing for \('random', 'warm'\)"):
        quadrants({pair: of for pair, of in four.items() if pair != ("random", "warm")})
    with pytest.raises(ValueError, match=r"rows \['sequential'\]"):
        quadrants({pair: of for pair, of in four.items() if pair[0] == "sequential"})


def test_a_way_that_ends_in_user_memory():
    read = {"io": IO(64, 0, 64 * MiB, 0, 64 * MiB, 0), "switches": Switches(5, 0), "faults": Faults(7, 0)}
    lent = {"io": IO(1, 0, 0, 0, 0, 0), "switches": Switches(0, 1), "faults": Faults(4000, 113)}
    ways = {"read, cold": run("r", 1, anonymous=1, **read), "map, warm": run("m", 1, file=64, **lent)}
    shown = copy_paths(ways, {"read/write": ["read, cold"], "map": ["map, warm"]}, destination=None)
    assert (
        "read, cold: copied into user memory, copied once, from the disk 64 MiB, read 64 MiB in 64 calls, "
        "waited 5 times, anonymous memory at the peak 1 MiB." in shown.alt
    )
    assert "map, warm: lent to user memory, never copied, from the disk 0 B, faults 4,113, never waited" in shown.alt
    assert "lent, 4,113 faults" in texts(shown) and "the copy" not in texts(shown)
    arrows = [patch for patch in shown.figure.axes[0].patches if isinstance(patch, FancyArrowPatch)]
    assert len(arrows) == 2  # from the disk and into user memory; the mapping's pages were there, and are only lent
    with pytest.raises(ValueError, match="no move is called 'in kernel'; there are: read/write, map"):
        copy_paths(ways, {"in kernel": ways}, destination=None)
