"""The state of every page of a mapping, or of a file in the page cache; and films of how they change."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes

from ..measure.cache import PageCache
from ..measure.film import Film, Step
from ..measure.pages import PageMap
from ..units import NOT_MEASURED, in_words
from .boxes import key_rows, sheet
from .cells import DOT, LETTER, WIDE, Layout, States, changed, draw, keys, panel
from .figure import GRID, INK, QUIET, Picture, legend, look, picture
from .words import count

MARGIN, KEY, LINE, SMALL, TINY = 10, 46, 38, 32, 24  # dots: the margin; a row of keys, of text, small text, numbers
TEXT, BETWEEN = 332, 34  # at the left of a film's row; between its columns
OUTLINED = 15  # smaller cells get no outline: a thousand outlines hide their cells


@look()
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
    if isinstance(steps, Mapping):
        rows, earlier = _named(steps), {row.title: row for row in _named(before or {})}
        lasts = [earlier.get(row.title) for row in rows]
    else:
        rows = [_step(step) for step in steps]
        lasts = [None, *rows]
    if not rows:
        raise ValueError("nothing to show: the film holds no step")
    heads = list(dict.fromkeys(head for row in rows for head in row.grids))
    across = (WIDE - 2 * MARGIN - TEXT) // len(heads) - BETWEEN
    columns = {head: MARGIN + TEXT + BETWEEN + i * (across + BETWEEN) for i, head in enumerate(heads)}
    for last, row in zip(lasts, rows, strict=False):
        row.lay_out(across, last)
    grids = [grid for row in rows for grid in row.grids.values()]
    layouts = [layout for row in rows for layout in row.layouts.values()]
    numbered = layouts[0].numbered and len(set(layouts)) == 1
    key_lines = key_rows(keys(grids, any(row.outlined for row in rows)))
    y = 12 + KEY * len(key_lines) + (LINE + 4 if any(heads) else 0) + (TINY + 6) * numbered
    tall = y + sum(row.tall for row in rows)
    fig, ax = sheet(tall / DOT)
    ax.set(xlim=(0, WIDE), ylim=(tall, 0))
    for head, x in columns.items():
        ax.text(x, KEY * len(key_lines) + LINE, head, va="baseline", color=INK)
        for page in range(max(len(grid.pages) for grid in grids) if numbered else 0):
            middle = x + page * layouts[0].pitch + (layouts[0].pitch - layouts[0].gap) / 2
            ax.text(middle, y - 4, str(page), ha="center", va="baseline", fontsize=6.5, color=QUIET)
    for row in rows:
        row.draw(ax, y, columns, across)
        y += row.tall
    for index, line in enumerate(key_lines):
        legend(fig, *line, down=index * KEY / DOT)
    each = {layout.each for layout in layouts}
    note = f" Each cell stands for {'up to ' * (len(each) > 1)}{max(each):,} pages." * (max(each) > 1)
    machine = f" Measured on {steps.machine}." if getattr(steps, "machine", None) else ""
    return picture(fig, " ".join(row.alt for row in rows), f"{caption}{note}{machine}")


@dataclass(eq=False)
class _Row:
    """A step's row: text at the left, and the grids by column head."""

    title: str
    notes: list[str]
    grids: dict[str, States]
    alt: str

    def lay_out(self, across: int, before: "_Row | None") -> None:
        """Sets the sizes: a row is as tall as its tallest grid, or its text. `before`: the same row, earlier."""
        self.layouts = {head: Layout.of(grid, across) for head, grid in self.grids.items()}
        self.outlined, self.below = {}, {}
        for head, grid in self.grids.items():
            differ = changed(grid, before.grids.get(head) if before else None)
            if differ is not None and self.layouts[head].pitch >= OUTLINED:
                self.outlined[head] = differ
            # For a grid alone in its row, the counts are at the left.
            self.below[head] = _wrapped(grid.text(3, absent=False), across) if grid.counts and head else []
        self.lines = textwrap.wrap(self.title, 18)
        self.notes = [line for note in self.notes for line in _wrapped(note, TEXT)]
        grids = (self.layouts[head].tall + 8 + SMALL * len(self.below[head]) for head in self.grids)
        self.tall = 50 + max(LINE * len(self.lines) + SMALL * len(self.notes), *grids)

    def draw(self, ax: Axes, y: int, columns: Mapping[str, int], across: int) -> None:
        """Draws the row from `y` down."""
        ax.plot((MARGIN, WIDE - MARGIN), (y + 6, y + 6), color=GRID, linewidth=0.6)
        y += 24
        _write(ax, MARGIN, y + LINE - 12, self.lines, LINE, fontweight="bold")
        _write(ax, MARGIN, y + LINE * len(self.lines) + 24, self.notes, color=QUIET, fontsize=7.5)
        for head, layout in self.layouts.items():
            x, grid = columns[head], self.grids[head]
            if grid.counts:
                draw(ax, grid, layout, x, y, self.outlined.get(head))
            else:
                panel(ax, grid, x, y, across, layout.tall)
            _write(ax, x, y + layout.tall + SMALL, self.below[head], color=QUIET, fontsize=7.5)


def _named(maps: Mapping[str, PageMap | PageCache]) -> list[_Row]:
    grids = {name: States(pages) for name, pages in maps.items()}
    return [_Row(name, grid.parts(3), {"": grid}, f"{name}: {grid.text(8)}.") for name, grid in grids.items()]


def _step(step: Step) -> _Row:
    grids = {"my page table": States(step.mine), "the page cache": States(step.cache)}
    grids |= {"the child's page table": States(step.child)} if step.child is not None else {}
    costs = _costs(step)
    texts = [f"{head} {grid.text(8)}" for head, grid in grids.items()]
    return _Row(step.action, costs, grids, f"{step.action}: {'; '.join([*texts, ', '.join(costs)])}.")


def _costs(step: Step) -> list[str]:
    """What the action alone cost, line by line: faults, bytes from the device; and the bytes that a touch read."""
    if step.minor is None or step.major is None:
        costs = [f"faults {NOT_MEASURED}"]
    else:
        faults = [count(n, f"{kind} fault") for n, kind in ((step.major, "major"), (step.minor, "minor")) if n]
        costs = [" and ".join(faults) or "no faults"]
    if step.device_read_bytes:
        costs.append(f"{in_words(step.device_read_bytes, 'bytes')} from the device")
    if values := [step.value] if isinstance(step.value, int) else list(step.value or ()):
        plural = "s" if len(values) > 1 else ""
        costs.append(f"byte{plural} read: {', '.join(map(str, values[:4]))}{', …' if len(values) > 4 else ''}")
    return costs


def _write(ax: Axes, x: int, y: int, lines: Sequence[str], line: int = SMALL, **how: Any) -> None:
    """Writes line by line from the baseline `y`; matplotlib would place a block by its tallest letters."""
    for index, words in enumerate(lines):
        ax.text(x, y + index * line, words, va="baseline", **how)


def _wrapped(text: str, dots: int) -> list[str]:
    return textwrap.wrap(text, dots // LETTER, break_on_hyphens=False)
