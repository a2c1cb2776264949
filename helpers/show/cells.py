"""Cells: draws the states of pages, one cell per page, or per several pages if they don't fit."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch, Rectangle
from matplotlib.path import Path

from ..measure.cache import PageCache
from ..measure.pages import PageMap, PageState
from ..units import NOT_MEASURED
from .figure import ABSENT, ANONYMOUS, FILE, INK, PAGE, QUIET, SHARED, Kind, key, paint

# Two more looks. Forked: paler than anonymous and hatched the other way, until a write gives a process its own copy.
# Swapped: grey like absent, because it's absent from memory, with the anonymous edge, because it must be kept.
FORKED = Kind("", "#fde6c4", ANONYMOUS.edge, "\\\\\\\\")
SWAPPED = Kind("", "#d8d8d8", ANONYMOUS.edge, "----")
LOOKS: Mapping[PageState, Kind] = {  # a cell of several pages is filled in this order, from below
    PageState.ANONYMOUS: ANONYMOUS,
    PageState.FORKED: FORKED,
    PageState.SWAPPED: SWAPPED,
    PageState.SHARED: SHARED,
    PageState.FILE: FILE,
    PageState.ABSENT: ABSENT,
}

# A picture of cells is laid out in its own dots, 2.5 per page pixel, so all gaps are equally wide.
DOT = 2.5
WIDE = round(PAGE * 96 * DOT)
LARGEST, LEAST, LEAST_OF_MANY = 104, 10, 20  # a cell and its gap: at most; at least for one page, for several
TALLEST = 840  # of a grid
LETTER = 14  # a small letter
DIRTY = {"marker": "o", "color": "white", "markeredgecolor": INK, "markeredgewidth": 1.2, "linestyle": "none"}
RARE = 0.2  # the least share of a cell that a state gets


class States:
    """What a grid shows of a page map or a page cache: each page's state, (pages,) of PageState or None; their names;
    and how many pages are in each state that occurs."""

    def __init__(self, pages: PageMap | PageCache):
        self.reason = pages.why
        if isinstance(pages, PageMap):
            self.names = {state: state.words for state in LOOKS}
            self.pages, self.dirty, self.more = pages.states, None, []
        else:
            self.names = {PageState.FILE: "cached", PageState.ABSENT: "not cached"}
            self.pages, self.dirty = None, pages.dirty_pages
            if pages.cached is not None:
                self.pages = np.where(pages.cached, PageState.FILE, PageState.ABSENT).astype(np.uint8)
            self.more = [(pages.dirty, "dirty", pages.dirty_pages), (pages.writeback, "being written", None)]
        self.counts: dict[PageState, int] = {}
        if self.pages is not None:
            self.counts = {state: n for state in LOOKS if (n := int(np.count_nonzero(self.pages == state)))}

    def text(self, runs: int = 0, absent: bool = True) -> str:
        """The parts in one line, or the reason that there are none."""
        if self.pages is None:
            return f"{NOT_MEASURED}: {self.reason}" if self.reason else NOT_MEASURED
        return ", ".join(self.parts(runs, absent)) or "no pages"

    def parts(self, runs: int = 0, absent: bool = True) -> list[str]:
        """The count of each state as text; with page numbers if its pages form at most so many runs."""
        return [
            f"{count:,} {self.names[state]}{self._numbers(self.pages == state, runs * (state != PageState.ABSENT))}"
            for state, count in self.counts.items()
            if absent or state != PageState.ABSENT or count == len(self.pages)
        ] + [f"{count:,} {word}{self._numbers(where, runs)}" for count, word, where in self.more if count]

    def _numbers(self, where: np.ndarray | None, most: int) -> str:
        """ " (page 5)", " (0 to 3, 7)"; "" for most pages, for more than `most` runs, and if nobody can tell."""
        numbers = np.flatnonzero(where) if where is not None else ()
        runs = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
        if not 0 < 2 * len(numbers) <= len(self.pages) or len(runs) > most:
            return ""
        words = ", ".join(f"{run[0]}" if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)
        return f" ({'page ' if len(numbers) == 1 else ''}{words})"


class Layout(NamedTuple):
    """Columns and rows of cells, `each` pages per cell, a cell every `pitch` dots, of which `gap` stay free."""

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

    @property
    def numbered(self) -> bool:
        """Is it a single row, with room for page numbers?"""
        return self.columns > self.rows == self.each == 1 and self.pitch >= 36

    @classmethod
    def of(cls, states: States, width: float) -> "Layout":
        """The largest cells that fit `width` dots. Columns are a power of two, so rows begin at round numbers."""
        if not states.counts:
            return cls(1, 1, 1, 160)
        each = 1
        while True:
            cells, least = -(-len(states.pages) // each), LEAST if each == 1 else LEAST_OF_MANY
            wanted = 2 ** max(4, math.ceil(math.log2(4 * cells) / 2))  # four times as wide as tall
            columns = min(wanted, 2 ** int(math.log2(width / least)))
            layout = cls(columns, -(-cells // columns), each, min(int(width) // columns, LARGEST))
            if layout.tall <= TALLEST:
                return layout
            each *= 2


def changed(states: States, before: States | None) -> np.ndarray | None:
    """(pages,) bool: which pages changed state since `before`; None if none did, or if nobody can tell."""
    if before is None or not states.counts or before.pages is None or len(before.pages) != len(states.pages):
        return None
    differ = before.pages != states.pages
    return differ if differ.any() else None


def draw(ax: Axes, states: States, layout: Layout, x: int, y: int, outlined: np.ndarray | None = None) -> None:
    """Draws the grid with its corner at (x, y), and a line around the pages of `outlined`, (pages,) bool."""
    side, index = layout.pitch - layout.gap, np.arange(-(-len(states.pages) // layout.each))
    left, top = x + index % layout.columns * layout.pitch, y + index // layout.columns * layout.pitch
    bottoms = np.zeros(len(index))
    for state, share in zip(LOOKS, _shares(states.pages, layout.each), strict=True):
        some, tops = share > 0, bottoms + share
        if some.any():
            boxes = left, top + np.rint(side * (1 - tops)), left + side, top + np.rint(side * (1 - bottoms))
            path = _rectangles(*(edge[some] for edge in boxes))
            ax.add_artist(PathPatch(path, linewidth=0, **paint(LOOKS[state])))
            bottoms = tops
    if states.dirty is not None:
        some = np.add.reduceat(states.dirty, index * layout.each) > 0
        ax.plot(left[some] + side / 2, top[some] + side / 2, **DIRTY, markersize=0.35 * side / DOT)
    if outlined is not None:
        path = _outline(np.add.reduceat(outlined, index * layout.each) > 0, layout, x, y)
        ax.add_artist(PathPatch(path, linewidth=0, facecolor=INK, zorder=3))


def panel(ax: Axes, states: States, x: int, y: int, width: int, tall: int) -> None:
    """Says why there's no grid, in its place."""
    ax.add_artist(Rectangle((x, y), width, tall, linewidth=0, **paint(ABSENT)))
    lines = textwrap.wrap(states.text(), int(width / LETTER), max_lines=int(tall / 32), placeholder=" …")
    ax.text(x + width / 2, y + tall / 2, "\n".join(lines), ha="center", va="center", color=QUIET, fontsize=7.5)


def keys(grids: Sequence[States], outlined: bool = False) -> list[Patch | Line2D]:
    """The legend: each state that occurs, with every name that the grids use for it."""
    shown: list[Patch | Line2D] = []
    for state, kind in LOOKS.items():
        if names := dict.fromkeys(grid.names[state] for grid in grids if state in grid.counts):
            shown.append(key(kind._replace(word=" · ".join(names))))
    shown += [Line2D([], [], label="dirty: not on the disk yet", **DIRTY)] * any(g.dirty is not None for g in grids)
    return shown + [Patch(facecolor="white", edgecolor=INK, linewidth=1.2, label="changed")] * outlined


def _shares(states: np.ndarray, each: int) -> np.ndarray:
    """(states, cells): each state's share of each cell, in the order of LOOKS; enough of a rare state to see it."""
    cells = -(-len(states) // each)
    at = np.arange(len(states)) // each * len(LOOKS) + states
    counts = np.bincount(at, minlength=cells * len(LOOKS)).reshape(cells, len(LOOKS)).T[list(LOOKS)]
    shares = np.where(counts > 0, np.maximum(counts / counts.sum(axis=0), RARE), 0)
    return shares / shares.sum(axis=0)


def _outline(changed: np.ndarray, layout: Layout, x: int, y: int) -> Path:
    """Lines as wide as a gap, along every edge between a changed and an unchanged cell."""
    grid = np.zeros((layout.rows + 2, layout.columns + 2), bool)
    grid[1:-1, 1:-1].flat[: len(changed)] = changed
    inner, gap, parts = grid[1:-1, 1:-1], layout.gap, []
    for rows, columns, dx, dy in ((0, 1, 0, -1), (2, 1, 0, 1), (1, 0, -1, 0), (1, 2, 1, 0)):
        neighbour = grid[rows : rows + layout.rows, columns : columns + layout.columns]
        row, column = np.nonzero(inner & ~neighbour)
        left, top = x + column * layout.pitch - gap, y + row * layout.pitch - gap
        right, bottom = left + layout.pitch + gap, top + layout.pitch + gap
        parts.append((right - gap if dx > 0 else left, bottom - gap if dy > 0 else top,
                      left + gap if dx < 0 else right, top + gap if dy < 0 else bottom))  # fmt: skip
    return _rectangles(*(np.concatenate(edges) for edges in zip(*parts, strict=True)))


def _rectangles(left: np.ndarray, top: np.ndarray, right: np.ndarray, bottom: np.ndarray) -> Path:
    """One path for all: with one artist per state, 4,096 cells draw fast, and the hatch runs through all of them."""
    corners = np.stack([left, top, right, top, right, bottom, left, bottom, left, top], axis=1).reshape(-1, 2)
    codes = np.tile([Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY], len(left))
    return Path(corners, codes)
