"""Memory, word by word: boxes of eight bytes, each with a name and a value, and arrows for
addresses.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from matplotlib.patches import Rectangle

from .boxes import LINE, MONO, pointed, sheet, shortened, width, wrapped
from .figure import INK, QUIET, Picture, look, picture
from .words import alt_text

WORD = 8  # bytes
LEFT, ACROSS, EACH, BOX, LANE = 116, 130, 4, 46, 9  # the page's pixels; EACH words side by side
RIGHT = LEFT + EACH * ACROSS
SMALL = 2**20  # a smaller word is more likely a count than an address, so it's shown in decimal too

Place = tuple[str, int]  # a row and the number of a word in it


@look()
def memory_words(
    rows: Mapping[str, Sequence[tuple[str, int]]],
    caption: str = "",
    *,
    at: Mapping[str, int] | None = None,
) -> Picture:
    """A row of words for each thing in memory: `{"fat pointer": [("data", 0x7f…), ("vtable",
    0x55…)], …}`.

    A word is eight bytes: a name, and an int from 0 to 2**64 - 1. Its place in the row gives its
    offset. `at` has the addresses of rows: a word with that value gets an arrow to the row.
    ValueError for a row without words, or a value that isn't a word.
    """
    at = at or {}
    if not rows or not all(rows.values()):
        raise ValueError(
            "nothing to show: pass at least one row, each with pairs of a name and a value"
        )
    for row, words in rows.items():
        for name, value in words:
            if (
                isinstance(value, bool)
                or not isinstance(value, int)
                or not 0 <= value < 2 ** (8 * WORD)
            ):
                raise ValueError(
                    f"{name!r} of {row!r} is {value!r}; a word is an int from 0 to 2**64 - 1"
                )
    row_at = {address: row for row, address in at.items()}
    values = {
        (row, index): value for row, words in rows.items() for index, (_, value) in enumerate(words)
    }
    pointers = {place: row_at[value] for place, value in values.items() if value in row_at}
    # Arrows leave words at the foot and enter rows at the head; those that don't lead to the next
    # line go around at the right. The fewest arrows cross if those to the next line leave and enter
    # first.
    lines = [(row, first) for row, words in rows.items() for first in range(0, len(words), EACH)]
    after = dict(pairwise(lines))
    near = {place for place, to in pointers.items() if after.get(_line(place)) == (to, 0)}
    leaving = {line: [place for place in pointers if _line(place) == line] for line in lines}
    for places in leaving.values():
        places.sort(key=lambda place: (place not in near, place[1] if place in near else -place[1]))
    first_near = sorted(pointers, key=lambda place: place not in near)
    entering = {row: [place for place in first_near if pointers[place] == row] for row in rows}
    labels = {row: wrapped(row, LEFT - 12, bold=True) for row in rows}
    tops, y = {}, 6
    for row, first in lines:
        heads = 0 if first else len(entering[row])
        tops[row, first] = y = y + (LANE * heads + 10) * bool(heads)
        tall = 0 if first else LINE * (len(labels[row]) + (row in at))
        y += (
            max(BOX, tall)
            + LANE * len(leaving[row, first])
            + (12 if first + EACH >= len(rows[row]) else 4)
        )
    fig, ax = sheet(y)
    for (row, first), top in tops.items():
        if first == 0:
            ax.text(
                4, top + 2, "\n".join(labels[row]), va="top", fontweight="bold", linespacing=1.25
            )
            under = top + 3 + LINE * len(labels[row])
            address = f"{at[row]:#x}" if row in at else ""
            ax.text(4, under, address, va="top", color=QUIET, family=MONO, fontsize=7.5)
        for index, (name, value) in enumerate(rows[row][first : first + EACH]):
            left = LEFT + index * ACROSS
            offset = f"+{(first + index) * WORD}"
            ax.add_patch(
                Rectangle((left, top), ACROSS, BOX, facecolor="white", edgecolor=INK, linewidth=1)
            )
            title = shortened(name, ACROSS - 18 - width(offset, 7.5), bold=True)
            ax.text(left + 6, top + 15, title, va="center_baseline", fontweight="bold")
            ax.text(
                left + ACROSS - 6,
                top + 15,
                offset,
                ha="right",
                va="center_baseline",
                color=QUIET,
                fontsize=7.5,
            )
            ax.text(
                left + 6, top + 32, _value(value), va="center_baseline", family=MONO, fontsize=7.5
            )
    for number, (place, to) in enumerate(pointers.items()):
        line = _line(place)
        into = entering[to]
        start = LEFT + (place[1] % EACH + 0.5) * ACROSS
        below = tops[line] + BOX
        foot = below + 8 + LANE * leaving[line].index(place)
        end = LEFT + 16 + 14 * into.index(place)
        top = tops[to, 0]
        lane = RIGHT + 8 + number * LANE % 32
        head = top - 10 - LANE * (len(into) - 1 - into.index(place))
        around = [(end, foot)] if place in near else [(lane, foot), (lane, head), (end, head)]
        pointed(ax, [(start, below), (start, foot), *around, (end, top)])
    texts = {
        f"{row} (at {at[row]:#x})" if row in at else row: [
            f"{name} {_value(value)}"
            + (f" (the address of {pointers[row, i]})" if (row, i) in pointers else "")
            for i, (name, value) in enumerate(words)
        ]
        for row, words in rows.items()
    }
    return picture(fig, alt_text("Memory in words of eight bytes", texts), caption)


def _line(place: Place) -> Place:
    """The line that a word stands in: its row, and the number of the line's first word."""
    return place[0], place[1] // EACH * EACH


def _value(value: int) -> str:
    return f"{value:#x} = {value:,}" if 9 < value < SMALL else f"{value:#x}"
