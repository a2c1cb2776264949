"""Boxes with text, each for some memory or an object in it, and arrows between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch
from matplotlib.path import Path

from .chart import Place, rectangle
from .figure import ABSENT, INK, WARNING, Kind, paint
from .text import LINE, SMALL, Line, fitted, write

BAND, PAD = 9, 7  # the page's pixels: the band at a box's top, the space beside text
LENT: dict[str, Any] = {"line": (0, (1.5, 1.5)), "head": "-"}  # bytes that aren't copied
LANE = 12  # from a box to an arrow that goes around others


@dataclass(eq=False)
class Box:
    """A white box for lines of text. The band at its top has the look of the memory that it stands
    for; or, with `share`, that part of the box's width has.
    """

    lines: Sequence[Line]
    kind: Kind | None = None
    share: float | None = None
    corner: str = ""  # small print at the upper right
    edge: str = INK
    align: str = "left"

    def text(self, wide: float) -> list[Line]:
        return fitted(self.lines, wide - (2 * PAD if self.share is None else 4))

    def tall(self, wide: float) -> float:
        return LINE * len(self.text(wide)) + 2 * PAD + BAND * bool(self.kind)

    def draw(self, ax: Axes, place: Place, column: Sequence["Box"]) -> None:
        lines = self.text(place.wide)
        band = BAND * bool(self.kind and self.share is None)
        if self.share is None:
            rectangle(ax, place, facecolor="white", edgecolor=self.edge, linewidth=1)
            if self.kind:
                left, top, right, _ = place
                inside = Place(left + 0.5, top + 0.5, right - 0.5, top + BAND)
                rectangle(ax, inside, **paint(self.kind))
        else:
            rectangle(ax, place, **paint(ABSENT))
            right = place.left + self.share * place.wide
            rectangle(ax, place._replace(right=right), **paint(self.kind or ABSENT))
        x = place.left + PAD if self.align == "left" else place.center
        y = place.top + band + (place.tall - band - LINE * len(lines)) / 2
        back = {"boxstyle": "round,pad=0.15", "alpha": 0.9, "facecolor": "white", "linewidth": 0}
        write(ax, x, y, lines, ha=self.align, **({} if self.share is None else {"bbox": back}))
        if self.corner:
            corner = (place.right - PAD, place.top + PAD + LINE / 2)
            ax.text(*corner, self.corner, ha="right", va="center_baseline", **SMALL)


@dataclass(eq=False)
class Arrow:
    """An arrow from one box to another, with words above and below it; without `line`, a style of
    matplotlib's, only the words. It's straight if the boxes stand side by side or one above the
    other, unless it goes `around` what is between; otherwise it leaves at the foot, and runs behind
    what is in its way, in a `lane` so far from the box, and so far `aside` of the boxes' centers.
    """

    start: Box
    end: Box
    above: str = ""
    below: str = ""
    color: str = INK
    line: Any = "-"
    head: str = "-|>,head_length=5,head_width=2.6"
    around: bool = False
    crossed: bool = False  # a copy that isn't made
    lane: float = LANE
    aside: float = 0

    def draw(self, ax: Axes, start: Place, end: Place) -> None:
        beside = start.top < end.foot and end.top < start.foot
        if beside and not self.around and start.right < end.left:
            y = min(start, end, key=lambda place: place.tall).middle
            way = [(start.right + 1, y), (end.left - 1, y)]
            x = (start.right + end.left) / 2 - 3
        else:
            down = start.foot < end.top
            up = end.foot < start.top and start.center == end.center and not self.around
            leave = start.top if up else start.foot
            lane = end.top - self.lane if down else leave + self.lane * (not up)
            side = end.top if down else end.foot
            out = start.center + self.aside
            into = self.aside + (end.center if down or up or self.around else end.left + 20)
            way = [(out, leave), (out, lane), (into, lane), (into, side)]
            x = (out + into) / 2 + 20 * (into == out)
            y = lane + 9
        if self.line:
            way = list(dict.fromkeys(way))
            how = {"joinstyle": "miter", "linewidth": 1.3, "linestyle": self.line, "zorder": 0.5}
            path = Path(way)
            ax.add_patch(FancyArrowPatch(path=path, arrowstyle=self.head, color=self.color, **how))
        if self.crossed:
            ax.plot(x, y, marker="x", markersize=9, markeredgewidth=2.4, color=WARNING)
        back = {"facecolor": "white", "linewidth": 0, "pad": 0.5}
        ax.text(
            x,
            y - 4 * (1 + self.crossed),
            self.above,
            ha="center",
            va="bottom",
            color=self.color,
            bbox=back,
        )
        ax.text(x, y + 4, self.below, ha="center", va="top", **SMALL)
