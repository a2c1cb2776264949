"""Memory, word by word: boxes of eight bytes, each with a name and a value, and arrows for addresses."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from .boxes import LINE, pointed, sheet, shortened
from .figure import INK, QUIET, Picture, look, picture
from .fitting import MONO, width, wrapped

WORD = 8  # bytes
LEFT, ACROSS, EACH, BOX, LANE = 116, 130, 4, 46, 9  # the page's pixels; EACH words side by side
RIGHT = LEFT + EACH * ACROSS
SMALL = 2**20  # a smaller word is more likely a count than an address, so it's shown in decimal too


Rows = Mapping[str, Sequence[tuple[str, int]]]


class Arrow(NamedTuple):
    """From a word to the row that lies at the word's value."""

    row: str
    word: int
    to: str


class Line(NamedTuple):
    """The words of a row that are side by side, from word number `first`."""

    row: str
    first: int


def memory_words(rows: Rows, caption: str = "", *, at: Mapping[str, int] | None = None) -> Picture:
    """A row of words for each thing in memory: `{"fat pointer": [("data", 0x7f…), ("vtable", 0x55…)], …}`.

    A word is eight bytes: a name, and an int from 0 to 2**64 - 1. Its place in the row gives its offset. `at` has the
    addresses of rows: a word with that value gets an arrow to the row. ValueError for a row without words, a value that
    isn't a word, or the address of an unknown row.
    """
    _check(rows, at or {})
    arrows = _arrows(rows, at or {})
    return picture(_drawn(rows, at or {}, arrows), _alt(rows, at or {}, arrows), caption)


def _check(rows: Rows, at: Mapping[str, int]) -> None:
    if not rows:
        raise ValueError("nothing to show: pass at least one row of words")
    for row, words in rows.items():
        if not words:
            raise ValueError(f"the row {row!r} has no words; pass pairs of a name and a value")
        for name, value in words:
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2 ** (8 * WORD):
                raise ValueError(f"{name!r} of {row!r} is {value!r}; a word is an int from 0 to 2**64 - 1")
    for row in at:
        if row not in rows:
            raise ValueError(f"an address of {row!r}, but the rows are: {', '.join(rows)}")


def _arrows(rows: Rows, at: Mapping[str, int]) -> list[Arrow]:
    there = {address: row for row, address in at.items()}
    return [
        Arrow(row, index, there[value])
        for row, words in rows.items()
        for index, (_, value) in enumerate(words)
        if value in there
    ]


def _drawn(rows: Rows, at: Mapping[str, int], arrows: list[Arrow]) -> Figure:
    """Arrows leave words at the foot and enter rows at the head; those to a later row go around at the right."""
    lines = [Line(row, first) for row, words in rows.items() for first in range(0, len(words), EACH)]
    line_of = {arrow: Line(arrow.row, arrow.word // EACH * EACH) for arrow in arrows}
    after = dict(pairwise(lines))
    near = {arrow for arrow in arrows if after.get(line_of[arrow]) == Line(arrow.to, 0)}
    # These orders cross the fewest arrows: arrows to the next row from the left, arrows around from the right.
    leaving = {
        line: sorted(
            (arrow for arrow in arrows if line_of[arrow] == line),
            key=lambda arrow: (arrow not in near, arrow.word if arrow in near else -arrow.word),
        )
        for line in lines
    }
    entering = {
        row: sorted((arrow for arrow in arrows if arrow.to == row), key=lambda arrow: arrow not in near) for row in rows
    }
    labels = {row: wrapped(row, LEFT - 12, bold=True) for row in rows}
    tops, y = {}, 6
    for line in lines:
        heads = len(entering[line.row]) if line.first == 0 else 0
        tops[line] = y = y + (LANE * heads + 10) * bool(heads)
        tall = LINE * (len(labels[line.row]) + (line.row in at)) if line.first == 0 else 0
        y += max(BOX, tall) + LANE * len(leaving[line]) + (12 if line.first + EACH >= len(rows[line.row]) else 4)
    with look():
        fig, ax = sheet(y)
        for line, top in tops.items():
            if line.first == 0:
                _label(ax, labels[line.row], at.get(line.row), top)
            for index, (name, value) in enumerate(rows[line.row][line.first : line.first + EACH]):
                _word(ax, LEFT + index * ACROSS, top, (line.first + index) * WORD, name, value)
        for number, arrow in enumerate(arrows):
            line, into = line_of[arrow], entering[arrow.to]
            start, below = LEFT + (arrow.word % EACH + 0.5) * ACROSS, tops[line] + BOX
            foot = below + 8 + LANE * leaving[line].index(arrow)
            end, top = LEFT + 16 + 14 * into.index(arrow), tops[Line(arrow.to, 0)]
            corners = [(start, below), (start, foot)]
            if arrow in near:
                corners.append((end, foot))
            else:
                head, lane = top - 10 - LANE * (len(into) - 1 - into.index(arrow)), RIGHT + 8 + number * LANE % 32
                corners += [(lane, foot), (lane, head), (end, head)]
            pointed(ax, [*corners, (end, top)])
        return fig


def _label(ax: Axes, lines: list[str], address: int | None, top: float) -> None:
    ax.text(4, top + 2, "\n".join(lines), va="top", fontweight="bold", linespacing=1.25)
    if address is not None:
        ax.text(4, top + 3 + LINE * len(lines), f"{address:#x}", va="top", color=QUIET, family=MONO, fontsize=7.5)


def _word(ax: Axes, left: float, top: float, offset: int, name: str, value: int) -> None:
    ax.add_patch(Rectangle((left, top), ACROSS, BOX, facecolor="white", edgecolor=INK, linewidth=1))
    place = f"+{offset}"
    title = shortened(name, ACROSS - 18 - width(place, 7.5), bold=True)
    ax.text(left + 6, top + 15, title, va="center_baseline", fontweight="bold")
    ax.text(left + ACROSS - 6, top + 15, place, ha="right", va="center_baseline", color=QUIET, fontsize=7.5)
    ax.text(left + 6, top + 32, _value(value), va="center_baseline", family=MONO, fontsize=7.5)


def _value(value: int) -> str:
    return f"{value:#x} = {value:,}" if 9 < value < SMALL else f"{value:#x}"


def _alt(rows: Rows, at: Mapping[str, int], arrows: list[Arrow]) -> str:
    there = {(arrow.row, arrow.word): arrow.to for arrow in arrows}
    told = []
    for row, words in rows.items():
        place = f" (at {at[row]:#x})" if row in at else ""
        said = (
            f"{name} {_value(value)}" + (f", the address of {there[row, i]}" if (row, i) in there else "")
            for i, (name, value) in enumerate(words)
        )
        told.append(f"{row}{place}: {'; '.join(said)}.")
    return f"Memory in words of eight bytes. {' '.join(told)}"
