"""What stands in a chart's cells: a bar of one or more parts, a histogram, the scale below them,
and a panel with axes of its own.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, MultipleLocator

from .chart import WIDE, Place, rectangle
from .figure import INK
from .text import BOLD, LINE, PLAIN, SMALL, WARN, Line, fitted, width, write
from .words import amount

Style = Mapping[str, Any]  # keywords of a matplotlib patch

THICK, HILL, NOTE = 18, 40, 13  # the page's pixels: a bar, a histogram, the small print below a bar
TEXT = 0.62  # of a cell's width, at most, for the text after a bar
MEASURED = {"color": INK, "linewidth": 2.4, "solid_capstyle": "butt"}
EDGE = {"color": "#b5b5b5", "linewidth": 0.8}


def y_axis(ax: Axes, unit: str, highest: float, top: float) -> None:
    """Up to `top`, with about four steps to `highest`: of bytes a power of two, of counts whole."""
    ax.set_ylim(0, top)
    ax.yaxis.set_major_formatter(lambda value, _: amount(value, unit))
    if unit == "bytes":
        ax.yaxis.set_major_locator(MultipleLocator(2 ** math.ceil(math.log2(highest / 5))))
    else:
        ax.yaxis.set_major_locator(MaxNLocator(4, integer=unit == "count"))


class Scaled:
    """A cell whose numbers share a scale with all of its column, with text after the longest."""

    ends: tuple[float, float]
    text: str
    strong = False  # is the text bold?

    def lines(self, wide: float) -> list[Line]:
        look = BOLD if self.strong else PLAIN
        return fitted([(self.text, look)], TEXT * wide)

    def scale(self, place: Place, column: Sequence["Scaled"]) -> Callable[[float], float]:
        """From a number to a place across."""
        lines = [line for cell in column for line in cell.lines(place.wide)]
        across = place.wide - 12 - max((width(text, **look) for text, look in lines), default=0)
        low = min(cell.ends[0] for cell in column)
        high = max(cell.ends[1] for cell in column)
        return lambda number: place.left + (number - low) / ((high - low) or 1) * across


@dataclass(frozen=True)
class Bar(Scaled):
    """Values end to end, each in its style, from 0; then the text."""

    parts: Sequence[tuple[float, Style]]
    text: str = ""
    note: str = ""  # small print below the bar
    warning: bool = False  # is the note one?
    guess: tuple[float, Style] | None = None  # a bar of its own, below
    most: float = 0  # that the scale reaches, if that's more than the bar
    numbers: bool = False  # a number in each part that is long enough
    strong: bool = False  # is the text bold?
    edge: Style = field(default_factory=lambda: EDGE)  # the line at 0

    @property
    def ends(self) -> tuple[float, float]:
        return 0, max(self.most, sum(value for value, _ in self.parts))

    def tall(self, wide: float) -> float:
        return max(THICK, LINE * len(self.lines(wide))) + NOTE * bool(self.note)

    def draw(self, ax: Axes, place: Place, column: Sequence[Any]) -> None:
        x = self.scale(place, column)
        lines = self.lines(place.wide)
        end = 0.0
        middle = place.middle - NOTE / 2 * bool(self.note)
        top = middle - THICK / 2
        foot = middle + THICK / 2
        if self.guess:
            foot -= 0.42 * THICK
        ax.plot((x(0), x(0)), (place.top - 4, place.foot + 4), **self.edge)
        for value, style in self.parts:
            part = Place(x(end), top, x(end + value), foot)
            rectangle(ax, part, **style)
            if self.numbers and part.wide > 16:
                back = {"facecolor": "white", "linewidth": 0, "pad": 1.2}
                how = {"ha": "center", "va": "center", "bbox": back}
                ax.text(part.center, part.middle, f"{value:,}", **how)
            end += value
        if self.guess:
            guess, style = self.guess
            guess = min(guess, 1.02 * max(cell.ends[1] for cell in column))
            rectangle(ax, Place(x(0), foot, x(guess), middle + THICK / 2), **style)
            end = max(end, guess)
        write(ax, x(end) + 8, middle - LINE * len(lines) / 2, lines)
        small = SMALL | (WARN if self.warning else {})
        back = {"facecolor": "white", "linewidth": 0, "pad": 0.6}
        write(ax, place.left + 3, middle + THICK / 2, [(self.note, small)], bbox=back)


@dataclass(frozen=True)
class Hills(Scaled):
    """Histograms over the same steps, each in its style and drawn before the next; a triangle at
    the median, a heavy line at what was measured; then the text.
    """

    edges: Sequence[float]  # n + 1, of the steps
    counts: Sequence[tuple[Sequence[int], Style]]  # n of each histogram
    text: str = ""
    median: float | None = None
    measured: float | None = None

    @property
    def ends(self) -> tuple[float, float]:
        return self.edges[0], self.edges[-1]

    def tall(self, wide: float) -> float:
        return max(HILL, LINE * len(self.lines(wide)))

    def draw(self, ax: Axes, place: Place, column: Sequence[Any]) -> None:
        x = self.scale(place, column)
        lines = self.lines(place.wide)
        ground = place.foot
        edges = [x(edge) for edge in self.edges]
        ax.plot((edges[0], edges[-1]), (ground, ground), **EDGE)
        highest = max(1, *(max(counts) for counts, _ in self.counts))
        for number, (counts, style) in enumerate(self.counts):
            hills = np.where(counts, ground - place.tall * np.array(counts) / highest, np.nan)
            ax.stairs(hills, edges, baseline=ground, zorder=1 - 0.1 * number, **style)
        if self.median is not None:
            ax.plot(x(self.median), ground + 5, marker="^", markersize=5.5, color=INK)
        if self.measured is not None:
            at = x(self.measured)
            ax.plot((at, at), (place.top - 4, ground), **MEASURED)
        write(ax, edges[-1] + 12, place.middle - LINE * len(lines) / 2, lines)


@dataclass(frozen=True)
class Scale(Scaled):
    """The numbers below a column."""

    ticks: Mapping[float, str]
    text: str = ""

    @property
    def ends(self) -> tuple[float, float]:
        return min(self.ticks), max(self.ticks)

    def tall(self, wide: float) -> float:
        return LINE

    def draw(self, ax: Axes, place: Place, column: Sequence[Any]) -> None:
        x = self.scale(place, column)
        for tick, words in self.ticks.items():
            ax.text(x(tick), place.middle, words, ha="center", va="center", **SMALL)


@dataclass(frozen=True, eq=False)
class Panel:
    """A plot with axes of its own, which `plot` draws, below a title and notes."""

    title: str
    plot: Callable[[Axes], None]
    notes: Sequence[Line] = ()
    high: float = 110  # the axes, without the labels

    # the page's pixels, for the labels
    LEFT = 54
    RIGHT = 10
    FOOT = 36

    def lines(self, wide: float) -> list[Line]:
        return fitted([(self.title, BOLD), *self.notes], wide - 4)

    def tall(self, wide: float) -> float:
        return LINE * len(self.lines(wide)) + 6 + self.high + self.FOOT

    def draw(self, ax: Axes, place: Place, column: Sequence[Any]) -> None:
        lines = self.lines(place.wide)
        foot = place.foot - self.FOOT
        top = foot - self.high
        left = place.left + self.LEFT
        right = place.right - self.RIGHT
        page = ax.get_ylim()[0]
        across = (right - left) / WIDE
        up = (foot - top) / page
        inner = ax.figure.add_axes((left / WIDE, 1 - foot / page, across, up))
        write(ax, place.left + 4, top - 6 - LINE * len(lines), lines)
        self.plot(inner)
