"""One layout for every chart. A chart declares rows of a label, cells and words: a cell is a bar, a
histogram, a box, a panel with curves, a grid of pages (cells.py, boxes.py, pages.py). The layout
owns the legend, the widths, the wrapping, and the alternative text, which is the rows' words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from .figure import GRID, PAGE, Picture, picture
from .text import BOLD, FAINT, LINE, PLAIN, WARN, Line, fitted, width, write
from .words import alt_text

# The page's pixels: the page, its margin, a row of keys, between rows, between columns, a label.
WIDE, MARGIN, KEYS, BETWEEN, GAP, LABEL = 680, 4, 28, 10, 24, 200


class Place(NamedTuple):
    """Where a cell is drawn, in the page's pixels from the upper left corner."""

    left: float
    top: float
    right: float
    foot: float

    @property
    def wide(self) -> float:
        return self.right - self.left

    @property
    def tall(self) -> float:
        return self.foot - self.top

    @property
    def center(self) -> float:
        return (self.left + self.right) / 2

    @property
    def middle(self) -> float:
        return (self.top + self.foot) / 2

    def joined(self, other: "Place") -> "Place":
        """The smallest place that holds both."""
        return Place(*map(min, self[:2], other[:2]), *map(max, self[2:], other[2:]))


class Cell(Protocol):
    """What stands in one column of a row."""

    def tall(self, wide: float) -> float:
        """The height that it needs if it's so wide."""

    def draw(self, ax: Axes, place: Place, column: Sequence[Any]) -> None:
        """Draws itself there. The cells of its column, down to the next heads, share a scale."""


@dataclass(frozen=True)
class Row:
    """One row of a chart. The same cell in neighbouring rows or columns is a single large one."""

    label: str
    cells: Sequence[Cell | None]
    words: Sequence[str] = ()  # what the alternative text says of it
    notes: Sequence[str] = ()  # small print below the label
    warning: str = ""
    heads: Sequence[str] = ()  # of the columns from here on, which begin a new scale

    def lines(self, look: Mapping[str, Any]) -> list[Line]:
        notes = [(note, FAINT) for note in self.notes]
        return [(self.label, look), *notes, (self.warning, WARN)]


def chart(
    opening: str,
    rows: Sequence[Row],
    caption: str = "",
    words: Sequence[tuple[str, Sequence[str]]] | None = None,
    **how: Any,
) -> Picture:
    """The picture of these rows. Its alternative text is their words, or `words` if those have
    another order; `how` is passed on to `layout`.
    """
    fig = layout(rows, **how)
    told = [(row.label, row.words) for row in rows] if words is None else words
    return picture(fig, alt_text(opening, told), caption, rows)


def layout(
    rows: Sequence[Row],
    *,
    keys: Sequence[Any] = (),
    arrows: Sequence[Any] = (),
    gap: float = GAP,
    between: float = BETWEEN,
    labels: float = LABEL,
    widest: float = WIDE,
    ruled: bool = False,
    alike: bool = False,
) -> Figure:
    """Draws the rows one below the other, and the arrows between their boxes.

    keys    of the legend, in as many lines as they need
    gap     pixels between columns
    between pixels between rows
    labels  pixels for the labels, at most
    widest  pixels for a cell, at most
    ruled   rows have a line above, and a bold label at the top
    alike   all columns have one scale
    """
    texts = [fitted(row.lines(BOLD if ruled else PLAIN), labels) for row in rows]
    label = max((width(text, **look) for lines in texts for text, look in lines), default=-10)
    left = MARGIN + label + 10
    count = max(len(row.cells) for row in rows)
    wide = min(widest, (WIDE - MARGIN - left - gap * (count - 1)) / count)
    lefts = [left + column * (wide + gap) for column in range(count)]
    fig = Figure()
    ax = fig.add_axes((0, 0, 1, 1), xlim=(0, WIDE), autoscale_on=False)
    ax.set_axis_off()
    y: float = MARGIN + KEYS * len(key_rows(keys))
    cells: dict[int, Cell] = {}
    places: dict[int, Place] = {}
    columns: dict[int, list[Cell]] = {}
    for row, lines in zip(rows, texts, strict=True):
        if row.heads or not cells:
            shared: list[list[Cell]] = [[]] * count if alike else [[] for _ in range(count)]
            y += _draw_heads(ax, row.heads, lefts, y, wide + 0.8 * gap)
        if ruled:
            ax.plot((MARGIN, WIDE - MARGIN), (y + 4, y + 4), color=GRID, linewidth=0.6)
            y += 12
        here = {id(cell): cell for cell in row.cells if cell is not None}
        for x, column, cell in zip(lefts, shared, row.cells, strict=False):
            if cell is not None:
                place = Place(x, y, x + wide, y)
                places[id(cell)] = places.get(id(cell), place).joined(place)
                columns[id(cell)] = column
                column.append(cell)
        tall = max([LINE * len(lines), *(one.tall(places[at].wide) for at, one in here.items())])
        for at in here:
            places[at] = places[at]._replace(foot=y + tall)
        if ruled:
            write(ax, MARGIN, y, lines)
        else:
            write(ax, left - 10, y + (tall - LINE * len(lines)) / 2, lines, ha="right")
        cells |= here
        y += tall + between
    fig.set_size_inches(PAGE, y / 96)
    ax.set_ylim(y, 0)
    legend(fig, keys)
    for at, cell in cells.items():
        cell.draw(ax, places[at], columns[at])
    for arrow in arrows:
        arrow.draw(ax, places[id(arrow.start)], places[id(arrow.end)])
    return fig


def _draw_heads(
    ax: Axes, heads: Sequence[str], lefts: Sequence[float], top: float, room: float
) -> float:
    """Draws them above their columns, or one above all. Returns their height."""
    texts = [fitted([(head, BOLD)], room if len(heads) > 1 else WIDE) for head in heads]
    for left, lines in zip(lefts, texts, strict=False):
        write(ax, left, top, lines)
    return max((LINE * len(lines) + 6 for lines in texts), default=0)


def legend(fig: Figure, keys: Sequence[Any]) -> None:
    """At the top, in the order given."""
    for number, row in enumerate(key_rows(keys)):
        top = 1 - number * KEYS / (96 * fig.get_figheight())
        how = {"ncols": len(row), "loc": "upper left", "bbox_to_anchor": (0.005, top)}
        fig.legend(handles=row, **how)


def key_rows(keys: Sequence[Any]) -> list[Sequence[Any]]:
    """The keys of a legend in rows that fit the page."""
    room = max((54 + width(key.get_label()) for key in keys), default=WIDE)
    whole = sum(54 + width(key.get_label()) for key in keys)
    each = len(keys) if whole <= WIDE else int(WIDE // room)
    return [keys[start : start + each] for start in range(0, len(keys), each or 1)]


def rectangle(ax: Axes, place: Place, **how: Any) -> None:
    ax.add_patch(Rectangle(place[:2], place.wide, place.tall, **{"linewidth": 0, **how}))
