"""The state of every page of a mapping, or of a file in the page cache; and films of how they
change.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path

from ..measure.cache import PageCache
from ..measure.explorer import Film, Step
from ..measure.pages import PageMap, PageState
from ..units import NOT_MEASURED, in_words
from .chart import Place, Row, chart, rectangle
from .figure import ABSENT, INK, LOOKS, Picture, key, look, paint
from .text import LINE, SMALL, Line, fitted, write
from .words import count

# Cells are laid out in their own dots, 2.5 per page pixel, so all gaps are equally wide.
DOT = 2.5
LARGEST, LEAST, LEAST_OF_MANY = 104, 10, 20  # dots of a cell and its gap: for several pages, more
TALLEST = 840  # dots, of a grid
NUMBERED = 36  # dots of a cell that has room for its number above
OUTLINED = 1024  # pages side by side: more outlines would hide their cells
RARE = 0.2  # the least share of a cell that a state gets
NUMBER = {**SMALL, "fontsize": 6.5}
DIRTY = {
    "marker": "o",
    "color": "white",
    "markeredgecolor": INK,
    "markeredgewidth": 1.2,
    "linestyle": "none",
}


@look()
def page_film(
    steps: Film | Sequence[Step] | Mapping[str, PageMap | PageCache],
    caption: str = "",
    before: Mapping[str, PageMap | PageCache] | None = None,
) -> Picture:
    """One row per step: the action and its cost, my page table, the page cache, and the page table
    of any child.

    Outlines mark what a step changed. Instead of steps, you may pass a mapping of names to page
    maps or page caches: one grid per row, with outlines for what changed since `before`, an earlier
    mapping of the same names. ValueError if there's nothing to show.
    """
    if isinstance(steps, Mapping):
        earlier = {name: States(pages) for name, pages in (before or {}).items()}
        rows = [_named(name, States(pages), earlier.get(name)) for name, pages in steps.items()]
    else:
        rows = [_step(*pair) for pair in zip(steps, [None, *steps], strict=False)]
    if not rows:
        raise ValueError("nothing to show: the film holds no step")
    heads = max((row.heads for row in rows), key=len)
    rows = [replace(row, heads=() if number else heads) for number, row in enumerate(rows)]
    grids = [grid for row in rows for grid in row.cells]
    if len({grid.states.counted for grid in grids}) == 1:  # the same pages below each other
        rows[0] = replace(rows[0], cells=[replace(grid, numbered=True) for grid in rows[0].cells])
    machine = f" Measured on {steps.machine}." if getattr(steps, "machine", None) else ""
    return chart("", rows, f"{caption}{machine}", keys=_keys(grids), labels=133, ruled=True)


class States:
    """What a grid shows of a page map or a page cache: each page's state, (pages,) of PageState or
    None; their names; and how many pages are in each state that occurs.
    """

    def __init__(self, pages: PageMap | PageCache):
        self.reason = pages.why
        if isinstance(pages, PageMap):
            self.names = {state: state.words for state in LOOKS}
            self.pages = pages.states
            self.dirty = None
            self.more = []
        else:
            self.names = {PageState.FILE: "cached", PageState.ABSENT: "not cached"}
            self.pages = None
            self.dirty = pages.dirty_pages
            if pages.cached is not None:
                self.pages = np.where(pages.cached, PageState.FILE, PageState.ABSENT).astype(
                    np.uint8
                )
            self.more = [
                (pages.dirty, "dirty", pages.dirty_pages),
                (pages.writeback, "being written", None),
            ]
        self.counts: dict[PageState, int] = {}
        if self.pages is not None:
            self.counts = {
                state: n for state in LOOKS if (n := int(np.count_nonzero(self.pages == state)))
            }

    @property
    def counted(self) -> int:
        """How many pages have a known state."""
        return 0 if self.pages is None else len(self.pages)

    def changes(self, before: "States | None", columns: int = 1) -> np.ndarray | None:
        """(pages,) bool; None if nothing changed, or there are too many pages to outline."""
        if not before or not 0 < self.counted == before.counted <= OUTLINED // columns:
            return None
        differ = self.pages != before.pages
        return differ if differ.any() else None

    def text(self, runs: int = 0, absent: bool = True) -> str:
        """The parts in one line, or the reason that there are none."""
        if self.pages is None:
            return f"{NOT_MEASURED}: {self.reason}" if self.reason else NOT_MEASURED
        return ", ".join(self.parts(runs, absent)) or "no pages"

    def parts(self, runs: int = 0, absent: bool = True) -> list[str]:
        """The count of each state as text; with page numbers if its pages form at most so many
        runs.
        """
        return [
            f"{count:,} {self.names[state]}"
            f"{self._numbers(self.pages == state, runs * (state != PageState.ABSENT))}"
            for state, count in self.counts.items()
            if absent or state != PageState.ABSENT or count == len(self.pages)
        ] + [
            f"{count:,} {word}{self._numbers(where, runs)}"
            for count, word, where in self.more
            if count
        ]

    def _numbers(self, where: np.ndarray | None, most: int) -> str:
        """ " (page 5)", " (0 to 3, 7)"; "" for most pages, for more than `most` runs, and if nobody
        can tell.
        """
        numbers = np.flatnonzero(where) if where is not None else ()
        runs = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
        if not 0 < 2 * len(numbers) <= len(self.pages) or len(runs) > most:
            return ""
        words = ", ".join(
            f"{run[0]}" if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs
        )
        return f" ({'page ' if len(numbers) == 1 else ''}{words})"


class Layout(NamedTuple):
    """Columns and rows of cells, `each` pages per cell, a cell every `pitch` dots, of which `gap`
    stay free.
    """

    columns: int
    rows: int
    each: int
    pitch: int

    @property
    def gap(self) -> int:
        return max(2, self.pitch // 13)

    @property
    def tall(self) -> int:
        return self.rows * self.pitch - self.gap

    @classmethod
    def of(cls, states: States, width: float) -> "Layout":
        """The largest cells that fit `width` dots. Columns are a power of two, so rows begin at
        round numbers.
        """
        if not states.counts:
            return cls(1, 1, 1, 160)
        each = 1
        while True:
            cells = -(-len(states.pages) // each)
            least = LEAST if each == 1 else LEAST_OF_MANY
            wanted = 2 ** max(4, math.ceil(math.log2(4 * cells) / 2))  # four times as wide as tall
            columns = min(wanted, 2 ** int(math.log2(width / least)))
            layout = cls(columns, -(-cells // columns), each, min(int(width) // columns, LARGEST))
            if layout.tall <= TALLEST:
                return layout
            each *= 2


@dataclass(frozen=True, eq=False)
class Grid:
    """The cell of a chart that shows every page, with a line around those that changed."""

    states: States
    changed: np.ndarray | None = None  # (pages,) bool
    counts: bool = True  # the counts below the grid
    numbered: bool = False  # the pages' numbers above it, if there is room

    def layout(self, wide: float) -> Layout:
        return Layout.of(self.states, DOT * wide)

    def head(self, layout: Layout) -> float:
        fits = layout.rows == layout.each == 1 and layout.pitch >= NUMBERED
        return LINE * (self.numbered and fits and layout.columns > 1)

    def lines(self, wide: float) -> list[Line]:
        each = self.layout(wide).each
        words = self.states.text(3, absent=False) if self.states.counts and self.counts else ""
        lines = [words] * bool(words) + [f"each cell: {each:,} pages"] * (each > 1)
        return fitted(((line, SMALL) for line in lines), wide)

    def tall(self, wide: float) -> float:
        layout = self.layout(wide)
        return self.head(layout) + layout.tall / DOT + 4 + LINE * len(self.lines(wide))

    def draw(self, ax: Axes, place: Place, column: Sequence[Any]) -> None:
        layout = self.layout(place.wide)
        states = self.states
        top = place.top + self.head(layout)
        foot = top + layout.tall / DOT
        write(ax, place.left, foot + 4, self.lines(place.wide))
        if not states.counts:  # why there's no grid, in its place
            back = Place(place.left, top, place.right, foot)
            rectangle(ax, back, **paint(ABSENT))
            lines = fitted([(states.text(), SMALL)], place.wide - 12)[:4]
            write(ax, back.center, back.middle - LINE * len(lines) / 2, lines, ha="center")
            return
        x = round(DOT * place.left)
        y = round(DOT * top)
        side = layout.pitch - layout.gap
        index = np.arange(-(-states.counted // layout.each))
        left = x + index % layout.columns * layout.pitch
        top_of = y + index // layout.columns * layout.pitch
        for state, bottoms, tops in _shares(states, layout.each):
            some = tops > bottoms
            upper, lower = (top_of + np.rint(side * (1 - edge)) for edge in (tops, bottoms))
            edges = left, upper, left + side, lower
            path = _rectangles(*(edge[some] for edge in edges))
            ax.add_artist(PathPatch(path, linewidth=0, **paint(LOOKS[state])))
        if self.head(layout):
            for page, at in enumerate(left):
                middle = (at + side / 2) / DOT
                ax.text(middle, top - 3, str(page), ha="center", va="baseline", **NUMBER)
        if states.dirty is not None:
            some = np.add.reduceat(states.dirty, index * layout.each) > 0
            spots = (left[some] + side / 2) / DOT, (top_of[some] + side / 2) / DOT
            ax.plot(*spots, **DIRTY, markersize=0.35 * side / DOT)
        if self.changed is not None:
            some = np.add.reduceat(self.changed, index * layout.each) > 0
            path = _rectangles(*(edge[some] for edge in (left, top_of, left + side, top_of + side)))
            ax.add_artist(PathPatch(path, linewidth=1.2, fill=False, edgecolor=INK, zorder=3))


def _shares(states: States, each: int) -> Iterator[tuple[PageState, np.ndarray, np.ndarray]]:
    """For each state that occurs, from where to where it fills the cells of `each` pages, 0 to 1
    from below.
    """
    cells = -(-states.counted // each)
    at = np.arange(states.counted) // each * len(LOOKS) + states.pages
    counts = np.bincount(at, minlength=cells * len(LOOKS)).reshape(cells, len(LOOKS))
    shares = np.where(counts > 0, np.maximum(counts / counts.sum(axis=1)[:, None], RARE), 0)
    shares /= shares.sum(axis=1)[:, None]
    bottoms = np.zeros(cells)
    for state in LOOKS:
        if state in states.counts:
            tops = bottoms + shares[:, state]
            yield state, bottoms, tops
            bottoms = tops


def _named(name: str, states: States, before: States | None) -> Row:
    grid = Grid(states, states.changes(before), counts=False)  # the counts are at the left
    return Row(name, [grid], [states.text(8)], states.parts(3) if states.counts else ())


def _states(step: Step) -> dict[str, States]:
    maps = {"my page table": step.mine, "the page cache": step.cache}
    if step.child is not None:
        maps["the child's page table"] = step.child
    return {head: States(pages) for head, pages in maps.items()}


def _step(step: Step, before: Step | None) -> Row:
    states = _states(step)
    earlier = _states(before) if before else {}
    grids = [
        Grid(each, each.changes(earlier.get(head), len(states))) for head, each in states.items()
    ]
    # What the action alone cost, and the bytes that a touch read.
    if step.minor is None or step.major is None:
        costs = [f"faults {NOT_MEASURED}"]
    else:
        faults = [
            count(n, f"{kind} fault")
            for n, kind in ((step.major, "major"), (step.minor, "minor"))
            if n
        ]
        costs = [" and ".join(faults) or "no faults"]
    if step.device_read_bytes:
        costs.append(f"{in_words(step.device_read_bytes, 'bytes')} from the device")
    if values := [step.value] if isinstance(step.value, int) else list(step.value or ()):
        plural = "s" if len(values) > 1 else ""
        costs.append(
            f"byte{plural} read: "
            f"{', '.join(map(str, values[:4]))}{', …' if len(values) > 4 else ''}"
        )
    texts = [f"{head} {each.text(8)}" for head, each in states.items()]
    return Row(step.action, grids, ["; ".join([*texts, ", ".join(costs)])], costs, heads=[*states])


def _keys(grids: Sequence[Grid]) -> list[Patch | Line2D]:
    """The legend: each state that occurs, with every name that the grids use for it."""
    shown: list[Patch | Line2D] = []
    states = [grid.states for grid in grids]
    for state, kind in LOOKS.items():
        if names := dict.fromkeys(one.names[state] for one in states if state in one.counts):
            shown.append(key(kind._replace(word=" · ".join(names))))
    if any(one.dirty is not None for one in states):
        shown.append(Line2D([], [], label="dirty: not on the disk yet", **DIRTY))
    if any(grid.changed is not None for grid in grids):
        outline = {"facecolor": "white", "edgecolor": INK, "linewidth": 1.2}
        shown.append(Patch(label="changed", **outline))
    return shown


def _rectangles(left: np.ndarray, top: np.ndarray, right: np.ndarray, bottom: np.ndarray) -> Path:
    """One path for all of these, given in dots: with one artist per state, 4,096 cells draw fast,
    and the hatch runs through all of them.
    """
    corners = np.stack(
        [left, top, right, top, right, bottom, left, bottom, left, top], axis=1
    ).reshape(-1, 2)
    codes = np.tile([Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY], len(left))
    return Path(corners / DOT, codes)
