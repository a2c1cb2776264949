"""Memory, word by word: boxes of eight bytes, each with a name and a value, and arrows for
addresses.
"""

from collections.abc import Mapping, Sequence

from .boxes import Arrow, Box
from .chart import Row, chart
from .figure import Picture, look
from .text import BOLD, MONO, shortened

WORD = 8  # bytes
EACH = 4  # words side by side
SMALL = 2**20  # a smaller word is more likely a count than an address, so it's shown in decimal too


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
    boxes = {row: [_box(n, *word) for n, word in enumerate(words)] for row, words in rows.items()}
    row_at = {address: row for row, address in at.items()}
    lines = []
    arrows = []
    told = []
    for row, words in rows.items():
        parts = [f"at {at[row]:#x}"] if row in at else []
        for box, (name, value) in zip(boxes[row], words, strict=True):
            to = row_at.get(value)
            parts.append(f"{name} {_value(value)}{f' (the address of {to})' if to else ''}")
            if to:
                arrows.append(Arrow(box, boxes[to][0]))
        told.append((row, parts))
        for first in range(0, len(words), EACH):
            line = boxes[row][first : first + EACH]
            lines.append(Row("", line) if first else Row(row, line, notes=parts[:1] * (row in at)))
    how = {"words": told, "arrows": arrows, "labels": 116, "gap": 0, "between": 24, "widest": 132}
    return chart("Memory in words of eight bytes", lines, caption, **how)


def _box(number: int, name: str, value: int) -> Box:
    title = (shortened(name, 90, **BOLD), BOLD)
    offset = f"+{number * WORD}"
    return Box([title, (_value(value), {"family": MONO, "fontsize": 7.5})], corner=offset)


def _value(value: int) -> str:
    return f"{value:#x} = {value:,}" if 9 < value < SMALL else f"{value:#x}"
