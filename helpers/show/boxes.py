"""A box with text, which stands for some memory or an object in it."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from .chart import Place, rectangle
from .figure import ABSENT, INK, Kind, paint
from .text import LINE, SMALL, Line, fitted, write

BAND, PAD = 9, 7  # the page's pixels: the band at a box's top, the space beside text


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
        lines, band = self.text(place.wide), BAND * bool(self.kind and self.share is None)
        if self.share is None:
            rectangle(ax, place, facecolor="white", edgecolor=self.edge, linewidth=1)
            top = place._replace(
                left=place.left + 0.5, right=place.right - 0.5, top=place.top + 0.5
            )
            if self.kind:
                rectangle(ax, top._replace(foot=place.top + BAND), **paint(self.kind))
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
