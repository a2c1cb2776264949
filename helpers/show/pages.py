"""The state of every page of a mapping, or of a file in the page cache; and films of how they
change.
"""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch, Rectangle
from matplotlib.path import Path

from ..measure.cache import PageCache
from ..measure.explorer import Film, Step
from ..measure.pages import PageMap, PageState
from ..units import NOT_MEASURED, in_words
from .boxes import key_rows, sheet
from .figure import (
    ABSENT,
    GRID,
    INK,
    LOOKS,
    PAGE,
    QUIET,
    Picture,
    key,
    legend,
    look,
    paint,
    picture,
)
from .words import count

# A picture of cells is laid out in its own dots, 2.5 per page pixel, so all gaps are equally wide.
DOT = 2.5
WIDE = round(PAGE * 96 * DOT)
# a cell and its gap: at most; at least for one page, for several
LARGEST, LEAST, LEAST_OF_MANY = (104, 10, 20)
TALLEST = 840  # of a grid
# the margin; a row of keys, of text, small text, numbers
MARGIN, KEY, LINE, SMALL, TINY = (10, 46, 38, 32, 24)
# at the left of a film's row; between its columns; a small letter
TEXT, BETWEEN, LETTER = (332, 34, 14)
OUTLINED = 15  # smaller cells get no outline: a thousand outlines hide their cells
DIRTY = {
    "marker": "o",
    "color": "white",
    "markeredgecolor": INK,
    "markeredgewidth": 1.2,
    "linestyle": "none",
}
RARE = 0.2  # the least share of a cell that a state gets


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
        rows = _named(steps)
        earlier = {row.title: row for row in _named(before or {})}
        lasts = [earlier.get(row.title) for row in rows]
    else:
        rows = [_step(step) for step in steps]
        lasts = [None, *rows]
    if not rows:
        raise ValueError("nothing to show: the film holds no step")
    heads = list(dict.fromkeys(head for row in rows for head in row.grids))
    across = (WIDE - 2 * MARGIN - TEXT) // len(heads) - BETWEEN
    columns = {
        head: MARGIN + TEXT + BETWEEN + i * (across + BETWEEN) for i, head in enumerate(heads)
    }
    for last, row in zip(lasts, rows, strict=False):
        row.lay_out(across, last)
    grids = [grid for row in rows for grid in row.grids.values()]
    layouts = [layout for row in rows for layout in row.layouts.values()]
    # pages have numbers if all grids are single rows of the same cells, with room for a number
    first = layouts[0]
    numbered = (
        set(layouts) == {first}
        and first.columns > first.rows == first.each == 1
        and first.pitch >= 36
    )
    key_lines = key_rows(_keys(grids, any(row.outlined for row in rows)))
    y = 12 + KEY * len(key_lines) + (LINE + 4 if any(heads) else 0) + (TINY + 6) * numbered
    tall = y + sum(row.tall for row in rows)
    fig, ax = sheet(tall / DOT)
    ax.set(xlim=(0, WIDE), ylim=(tall, 0))
    for head, x in columns.items():
        ax.text(x, KEY * len(key_lines) + LINE, head, va="baseline", color=INK)
        for page in range(max(len(grid.pages) for grid in grids) if numbered else 0):
            middle = x + page * first.pitch + (first.pitch - first.gap) / 2
            ax.text(middle, y - 4, str(page), ha="center", va="baseline", fontsize=6.5, color=QUIET)
    for row in rows:
        row.draw(ax, y, columns, across)
        y += row.tall
    for index, line in enumerate(key_lines):
        legend(fig, *line, down=index * KEY / DOT)
    each = {layout.each for layout in layouts}
    note = f" Each cell stands for {'up to ' * (len(each) > 1)}{max(each):,} pages." * (
        max(each) > 1
    )
    machine = f" Measured on {steps.machine}." if getattr(steps, "machine", None) else ""
    return picture(fig, " ".join(row.alt for row in rows), f"{caption}{note}{machine}")


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


@dataclass(eq=False)
class _Row:
    """A step's row: text at the left, and the grids by column head."""

    title: str
    notes: list[str]
    grids: dict[str, States]
    alt: str

    def lay_out(self, across: int, before: "_Row | None") -> None:
        """Sets the sizes: a row is as tall as its tallest grid, or its text. `before`: the same
        row, earlier.
        """
        self.layouts = {head: Layout.of(grid, across) for head, grid in self.grids.items()}
        self.outlined, self.below = {}, {}
        for head, grid in self.grids.items():
            earlier = before.grids.get(head) if before else None
            if earlier and grid.counts and earlier.counts and len(earlier.pages) == len(grid.pages):
                differ = earlier.pages != grid.pages
                if differ.any() and self.layouts[head].pitch >= OUTLINED:
                    self.outlined[head] = differ
            # For a grid alone in its row, the counts are at the left.
            self.below[head] = (
                _wrapped(grid.text(3, absent=False), across) if grid.counts and head else []
            )
        self.lines = textwrap.wrap(self.title, 18)
        self.notes = [line for note in self.notes for line in _wrapped(note, TEXT)]
        grids = (self.layouts[head].tall + 8 + SMALL * len(self.below[head]) for head in self.grids)
        self.tall = 50 + max(LINE * len(self.lines) + SMALL * len(self.notes), *grids)

    def draw(self, ax: Axes, y: int, columns: Mapping[str, int], across: int) -> None:
        ax.plot((MARGIN, WIDE - MARGIN), (y + 6, y + 6), color=GRID, linewidth=0.6)
        y += 24
        _write(ax, MARGIN, y + LINE - 12, self.lines, LINE, fontweight="bold")
        _write(ax, MARGIN, y + LINE * len(self.lines) + 24, self.notes, color=QUIET, fontsize=7.5)
        for head, layout in self.layouts.items():
            x = columns[head]
            grid = self.grids[head]
            if grid.counts:
                _draw(ax, grid, layout, x, y, self.outlined.get(head))
            else:  # why there's no grid, in its place
                middle = x + across / 2, y + layout.tall / 2
                ax.add_artist(Rectangle((x, y), across, layout.tall, linewidth=0, **paint(ABSENT)))
                lines = textwrap.wrap(
                    grid.text(), across // LETTER, max_lines=layout.tall // 32, placeholder=" …"
                )
                ax.text(
                    *middle, "\n".join(lines), ha="center", va="center", color=QUIET, fontsize=7.5
                )
            _write(ax, x, y + layout.tall + SMALL, self.below[head], color=QUIET, fontsize=7.5)


def _named(maps: Mapping[str, PageMap | PageCache]) -> list[_Row]:
    grids = {name: States(pages) for name, pages in maps.items()}
    return [
        _Row(name, grid.parts(3), {"": grid}, f"{name}: {grid.text(8)}.")
        for name, grid in grids.items()
    ]


def _step(step: Step) -> _Row:
    grids = {"my page table": States(step.mine), "the page cache": States(step.cache)}
    grids |= {"the child's page table": States(step.child)} if step.child is not None else {}
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
    texts = [f"{head} {grid.text(8)}" for head, grid in grids.items()]
    return _Row(
        step.action, costs, grids, f"{step.action}: {'; '.join([*texts, ', '.join(costs)])}."
    )


def _write(ax: Axes, x: int, y: int, lines: Sequence[str], line: int = SMALL, **how: Any) -> None:
    """Writes line by line from the baseline `y`; matplotlib would place a block by its tallest
    letters.
    """
    for index, words in enumerate(lines):
        ax.text(x, y + index * line, words, va="baseline", **how)


def _wrapped(text: str, dots: int) -> list[str]:
    return textwrap.wrap(text, dots // LETTER, break_on_hyphens=False)


def _draw(
    ax: Axes, states: States, layout: Layout, x: int, y: int, outlined: np.ndarray | None = None
) -> None:
    """Draws the grid with its corner at (x, y), and a line around the pages of `outlined`, (pages,)
    bool.
    """
    side = layout.pitch - layout.gap
    index = np.arange(-(-len(states.pages) // layout.each))
    left = x + index % layout.columns * layout.pitch
    top = y + index // layout.columns * layout.pitch
    at = np.arange(len(states.pages)) // layout.each * len(LOOKS) + states.pages
    counts = (
        np.bincount(at, minlength=len(index) * len(LOOKS))
        .reshape(len(index), len(LOOKS))
        .T[list(LOOKS)]
    )
    # (states, cells)
    shares = np.where(counts > 0, np.maximum(counts / counts.sum(axis=0), RARE), 0)
    bottoms = np.zeros(len(index))
    for state, share in zip(LOOKS, shares / shares.sum(axis=0), strict=True):
        some = share > 0
        tops = bottoms + share
        if some.any():
            boxes = (
                left,
                top + np.rint(side * (1 - tops)),
                left + side,
                top + np.rint(side * (1 - bottoms)),
            )
            path = _rectangles(*(edge[some] for edge in boxes))
            ax.add_artist(PathPatch(path, linewidth=0, **paint(LOOKS[state])))
            bottoms = tops
    if states.dirty is not None:
        some = np.add.reduceat(states.dirty, index * layout.each) > 0
        ax.plot(left[some] + side / 2, top[some] + side / 2, **DIRTY, markersize=0.35 * side / DOT)
    if outlined is not None:
        path = _outline(np.add.reduceat(outlined, index * layout.each) > 0, layout, x, y)
        ax.add_artist(PathPatch(path, linewidth=0, facecolor=INK, zorder=3))


def _keys(grids: Sequence[States], outlined: bool = False) -> list[Patch | Line2D]:
    """The legend: each state that occurs, with every name that the grids use for it."""
    shown: list[Patch | Line2D] = []
    for state, kind in LOOKS.items():
        if names := dict.fromkeys(grid.names[state] for grid in grids if state in grid.counts):
            shown.append(key(kind._replace(word=" · ".join(names))))
    shown += [Line2D([], [], label="dirty: not on the disk yet", **DIRTY)] * any(
        g.dirty is not None for g in grids
    )
    return (
        shown + [Patch(facecolor="white", edgecolor=INK, linewidth=1.2, label="changed")] * outlined
    )


def _outline(changed: np.ndarray, layout: Layout, x: int, y: int) -> Path:
    """Lines as wide as a gap, along every edge between a changed and an unchanged cell."""
    grid = np.zeros((layout.rows + 2, layout.columns + 2), bool)
    grid[1:-1, 1:-1].flat[: len(changed)] = changed
    inner = grid[1:-1, 1:-1]
    gap = layout.gap
    parts = []
    for rows, columns, dx, dy in ((0, 1, 0, -1), (2, 1, 0, 1), (1, 0, -1, 0), (1, 2, 1, 0)):
        neighbour = grid[rows : rows + layout.rows, columns : columns + layout.columns]
        row, column = np.nonzero(inner & ~neighbour)
        left = x + column * layout.pitch - gap
        top = y + row * layout.pitch - gap
        right = left + layout.pitch + gap
        bottom = top + layout.pitch + gap
        parts.append(
            (
                right - gap if dx > 0 else left,
                bottom - gap if dy > 0 else top,
                left + gap if dx < 0 else right,
                top + gap if dy < 0 else bottom,
            )
        )
    return _rectangles(*(np.concatenate(edges) for edges in zip(*parts, strict=True)))


def _rectangles(left: np.ndarray, top: np.ndarray, right: np.ndarray, bottom: np.ndarray) -> Path:
    """One path for all: with one artist per state, 4,096 cells draw fast, and the hatch runs
    through all of them.
    """
    corners = np.stack(
        [left, top, right, top, right, bottom, left, bottom, left, top], axis=1
    ).reshape(-1, 2)
    codes = np.tile([Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY], len(left))
    return Path(corners, codes)
