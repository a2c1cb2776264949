"""Arrows between boxes: straight to the next column, and all others in lanes between the rows,
behind what lies in their way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch
from matplotlib.path import Path

from .figure import INK
from .text import SMALL, width

LANE = 12  # the page's pixels
LENT: dict[str, Any] = {"line": (0, (1.5, 1.5)), "head": "-"}  # bytes that aren't copied


@dataclass(eq=False)
class Arrow:
    """An arrow from one box to another, with words above and below it; without `line`, a style of
    matplotlib's, only the words.
    """

    start: Any
    end: Any
    above: str = ""
    below: str = ""
    color: str = INK
    line: Any = "-"
    head: str = "-|>,head_length=5,head_width=2.6"

    @property
    def room(self) -> float:
        """The width of its words."""
        return 12 + max(width(self.above), width(self.below, **SMALL))

    def draw(self, ax: Axes, corners: Sequence[tuple[float, float]], x: float, y: float) -> None:
        """Along the corners, with its words at (x, y)."""
        if self.line:
            how = {"joinstyle": "miter", "linewidth": 1.3, "linestyle": self.line, "zorder": 0.5}
            path = Path(corners)
            ax.add_patch(FancyArrowPatch(path=path, arrowstyle=self.head, color=self.color, **how))
        back = {"facecolor": "white", "linewidth": 0, "pad": 0.5}
        ax.text(x, y - 4, self.above, ha="center", va="bottom", color=self.color, bbox=back)
        ax.text(x, y + 4, self.below, ha="center", va="top", **SMALL)


class Lanes:
    """The lane of each arrow between boxes that stand in these rows."""

    def __init__(self, arrows: Sequence[Arrow], rows: Sequence[Sequence[Any]]):
        self.arrows, self.rows = arrows, rows
        places = [(id(cell), n, at) for n, row in enumerate(rows) for at, cell in enumerate(row)]
        self.last = {cell: row for cell, row, _ in places}
        self.first = {cell: row for cell, row, _ in reversed(places)}
        self.column = {cell: column for cell, _, column in reversed(places)}
        self.below: list[list[Arrow]] = [[] for _ in rows]  # each row
        for arrow in arrows:
            if not self.is_straight(arrow):
                self.below[self.row(arrow)].append(arrow)

    def is_straight(self, arrow: Arrow) -> bool:
        start, end = id(arrow.start), id(arrow.end)
        between = self.rows[self.last[start]][self.column[start] + 1 : self.column[end]]
        together = self.first[end] <= self.last[start] <= self.last[end]
        return together and self.column[end] > self.column[start] and not any(between)

    def row(self, arrow: Arrow) -> int:
        """The row that its lane is below: the one above its end, or its own if that is higher."""
        start, end = self.last[id(arrow.start)], self.first[id(arrow.end)]
        return end - 1 if end > start else start

    def room_before(self, column: int) -> float:
        """How wide the gap before this column must be for arrows' words."""
        into = (arrow for arrow in self.arrows if self.column[id(arrow.end)] == column)
        return max((arrow.room for arrow in into if self.is_straight(arrow)), default=0)

    def tall(self, row: int) -> float:
        """How much space the lanes below a row need."""
        return LANE * len(self.below[row])

    def draw(self, ax: Axes, places: Mapping[int, Any], feet: Sequence[float]) -> None:
        """`feet`: of the rows."""
        for arrow in self.arrows:
            start, end = places[id(arrow.start)], places[id(arrow.end)]
            if self.is_straight(arrow):
                y = min(start, end, key=lambda place: place.tall).middle
                x = (start.right + end.left) / 2
                arrow.draw(ax, [(start.right + 1, y), (end.left - 1, y)], x, y)
                continue
            row = self.row(arrow)
            lane = feet[row] + LANE * (self.below[row].index(arrow) + 1)
            into = [one for lanes in self.below for one in lanes if one.end is arrow.end]
            x = end.left + end.wide * (into.index(arrow) + 1) / (len(into) + 1)
            side = end.top if row < self.last[id(arrow.end)] else end.foot
            way = [(start.center, start.foot), (start.center, lane), (x, lane), (x, side)]
            if x == start.center:
                way[1:3] = []
            beside = arrow.room / 2 * (x == start.center)
            arrow.draw(ax, way, (start.center + x) / 2 + beside, lane + 9)
