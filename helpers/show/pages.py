"""The state of every page of a mapping, or of a file in the page cache; and films of how they change."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ..measure.cache import PageCache
from ..measure.film import Film, Step
from ..measure.pages import PageMap
from ..units import NOT_MEASURED, in_words
from .cells import KEY, LETTER, OUTLINED, WIDE, Layout, Seen, canvas, changed, draw, keys, legend, panel
from .figure import GRID, INK, QUIET, Picture, look, picture

MARGIN, LINE, SMALL, TINY = 10, 38, 32, 24  # dots: the margin; lines of text, small text, page numbers
TEXT, BETWEEN = 332, 34  # at the left of a film's row; between its columns


def page_film(
    steps: Film | Sequence[Step] | Mapping[str, PageMap | PageCache],
    caption: str = "",
    before: Mapping[str, PageMap | PageCache] | None = None,
) -> Picture:
    """One row per step: the action and its cost, my page table, the page cache, and the page table of any child.

    Outlines mark what a step changed. Instead of steps, you may pass a mapping of names to page maps or page caches:
    one grid per row, with outlines for what changed since `before`, an earlier mapping of the same names. ValueError
    if there's nothing to show.
    """
    rows = _named(steps) if isinstance(steps, Mapping) else _stepped(steps)
    earlier = {row.title: row for row in _named(before or {})}
    lasts = [earlier.get(row.title) for row in rows] if isinstance(steps, Mapping) else [None, *rows]
    if not rows:
        raise ValueError("nothing to show: the film holds no step")
    heads = list(dict.fromkeys(head for row in rows for head in row.grids))
    across = (WIDE - 2 * MARGIN - TEXT) // len(heads) - BETWEEN
    columns = {head: MARGIN + TEXT + BETWEEN + i * (across + BETWEEN) for i, head in enumerate(heads)}
    for last, row in zip(lasts, rows, strict=False):
        row.lay_out(across, last)
    layouts = [layout for row in rows for layout in row.layouts.values()]
    numbered = layouts[0].numbered and len(set(layouts)) == 1
    legends = keys([seen for row in rows for seen in row.grids.values()], any(row.outlined for row in rows))
    above = 12 + KEY * len(legends) + (LINE + 4 if any(heads) else 0) + (TINY + 6) * numbered
    with look():
        fig, ax = canvas(above + sum(row.tall for row in rows))
        for head, x in columns.items():
            ax.text(x, KEY * len(legends) + LINE, head, va="baseline", color=INK)
            if numbered:
                most = max(len(seen.states) for row in rows for seen in row.grids.values())
                _numbers(ax, most, layouts[0], x, above - 4)
        y = above
        for row in rows:
            row.draw(ax, y, columns, across)
            y += row.tall
        legend(fig, legends)
        many = {layout.each for layout in layouts}
        note = f" Each cell stands for {'up to ' * (len(many) > 1)}{max(many):,} pages." * (max(many) > 1)
        machine = f" Measured on {steps.machine}." if getattr(steps, "machine", None) else ""
        return picture(fig, " ".join(row.alt for row in rows), f"{caption}{note}{machine}")


@dataclass(eq=False)
class _Row:
    """A step's row: text at the left, and the grids by column head."""

    title: str
    notes: list[str]
    grids: dict[str, Seen]
    alt: str

    def lay_out(self, across: int, before: "_Row | None") -> None:
        """Sets the sizes: a row is as tall as its tallest grid, or its text. `before`: the same row, earlier."""
        last = before.grids if before else {}
        self.layouts = {head: Layout.of(seen, across) for head, seen in self.grids.items()}
        self.outlined = {
            head: differ
            for head, seen in self.grids.items()
            if self.layouts[head].pitch >= OUTLINED and (differ := changed(seen, last.get(head))) is not None
        }
        self.below = {  # for a grid alone in its row, the counts are at the left
            head: _wrapped(seen.told(which=3, absent=False), across // LETTER) if seen.counts and head else []
            for head, seen in self.grids.items()
        }
        self.lines = textwrap.wrap(self.title, 18)
        self.notes = [line for note in self.notes for line in _wrapped(note, TEXT // LETTER)]
        grids = (self.layouts[head].tall + 8 + SMALL * len(self.below[head]) for head in self.grids)
        self.tall = 50 + max(LINE * len(self.lines) + SMALL * len(self.notes), *grids)

    def draw(self, ax: Axes, y: int, columns: Mapping[str, int], across: int) -> None:
        """Draws the row from `y` down."""
        ax.plot((MARGIN, WIDE - MARGIN), (y + 6, y + 6), color=GRID, linewidth=0.6)
        y += 24
        _write(ax, MARGIN, y + LINE - 12, self.lines, LINE, fontweight="bold")
        _write(ax, MARGIN, y + LINE * len(self.lines) + 24, self.notes, color=QUIET, fontsize=7.5)
        for head, layout in self.layouts.items():
            x = columns[head]
            _grid(ax, self.grids[head], layout, x, y, across, self.outlined.get(head))
            _write(ax, x, y + layout.tall + SMALL, self.below[head], color=QUIET, fontsize=7.5)


def _named(maps: Mapping[str, PageMap | PageCache]) -> list[_Row]:
    made = []
    for name, pages in maps.items():
        seen = Seen(pages)
        made.append(_Row(name, seen.parts(which=3), {"": seen}, f"{name}: {seen.told(which=8)}."))
    return made


def _stepped(steps: Sequence[Step]) -> list[_Row]:
    made = []
    for step in steps:
        grids = {"my page table": Seen(step.mine), "the page cache": Seen(step.cache)}
        grids |= {"the child's page table": Seen(step.child)} if step.child is not None else {}
        costs = _costs(step)
        told = "; ".join(f"{head} {seen.told(which=8)}" for head, seen in grids.items())
        made.append(_Row(step.action, costs, grids, f"{step.action}: {told}; {', '.join(costs)}."))
    return made


def _costs(step: Step) -> list[str]:
    """What the action alone cost, line by line: faults, bytes from the device; and the bytes that a touch read."""
    faults = [f"{n:,} {kind}" for n, kind in ((step.major, "major"), (step.minor, "minor")) if n]
    count = (step.major or 0) + (step.minor or 0)
    said = [f"{' and '.join(faults) or 'no'} fault{'' if count == 1 else 's'}"]
    if step.minor is None or step.major is None:
        said = [f"faults {NOT_MEASURED}"]
    if step.device_read_bytes:
        said.append(f"{in_words(step.device_read_bytes, 'bytes')} from the device")
    values = [step.value] if isinstance(step.value, int) else list(step.value or ())
    if values:
        plural = "s" if len(values) > 1 else ""
        said.append(f"byte{plural} read: {', '.join(map(str, values[:4]))}{', …' if len(values) > 4 else ''}")
    return said


def _grid(ax: Axes, seen: Seen, layout: Layout, x: int, y: int, width: int, outlined: np.ndarray | None = None) -> None:
    """Draws the cells, or a panel that says why there are none."""
    if seen.counts:
        draw(ax, seen, layout, x, y, outlined)
    else:
        panel(ax, seen, x, y, width, layout.tall)


def _write(ax: Axes, x: int, y: int, lines: Sequence[str], line: int = SMALL, **how: Any) -> None:
    """Writes line by line from the baseline `y`; matplotlib would place a block by its tallest letters."""
    for index, words in enumerate(lines):
        ax.text(x, y + index * line, words, va="baseline", **how)


def _wrapped(text: str, letters: int) -> list[str]:
    return textwrap.wrap(text, letters, break_on_hyphens=False)


def _numbers(ax: Axes, count: int, layout: Layout, x: int, y: int) -> None:
    for page in range(count):
        middle = x + page * layout.pitch + (layout.pitch - layout.gap) / 2
        ax.text(middle, y, str(page), ha="center", va="baseline", fontsize=6.5, color=QUIET)
