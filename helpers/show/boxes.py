"""A sheet to draw on in the page's pixels, from the upper left corner; text that fits; boxes,
arrows.
"""

import re
import textwrap
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyArrowPatch, Rectangle
from matplotlib.path import Path
from matplotlib.textpath import text_to_path

from .figure import INK, LOOK, PAGE, Kind, paint

# the page, a line of text, a box's band, the space beside text
WIDE, LINE, BAND, PAD = (680, 15, 10, 7)
SIZE = LOOK["font.size"]
SANS = "DejaVu Sans"
MONO = "DejaVu Sans Mono"


def sheet(height: float) -> tuple[Figure, Axes]:
    """A figure as wide as the page; y grows downwards. Call it within `look()`."""
    fig = Figure(figsize=(PAGE, height / 96))
    ax = fig.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, WIDE), ylim=(height, 0))
    ax.set_axis_off()
    return fig, ax


def key_rows(keys: Sequence[Any]) -> list[list[Any]]:
    """The keys of a legend in rows that fit the page, each to be put below the last by `legend(fig,
    *row, down=…)`.
    """
    rows: list[list[Any]] = []
    for key in keys:
        if not rows or sum(54 + width(each.get_label()) for each in (*rows[-1], key)) > WIDE:
            rows.append([])
        rows[-1].append(key)
    return rows


@lru_cache(4096)
def width(text: str, size: float = SIZE, bold: bool = False, family: str = SANS) -> float:
    """The width of a line in the page's pixels; `size` is in points, and a pixel is three quarters
    of a point.
    """
    font = FontProperties(family=family, size=size, weight="bold" if bold else "normal")
    across, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return across * 96 / 72


def wrapped(text: str, room: float, size: float = SIZE, bold: bool = False) -> list[str]:
    """`text` in lines of at most `room` pixels; keeps numbers with their units, and breaks words
    that are too long.
    """
    text = re.sub(r"(\d) ([KMG]?i?B\b|exports?\b)", "\\1\N{NO-BREAK SPACE}\\2", text)
    for letters in range(len(text), 1, -1):
        lines = textwrap.wrap(text, letters, break_on_hyphens=False)
        if all(width(line, size, bold) <= room for line in lines):
            return lines
    return textwrap.wrap(text, 1)


def shortened(text: str, room: float, size: float = SIZE, bold: bool = False, **family: str) -> str:
    """Cuts the middle out of a line until it fits `room` pixels: names differ at their ends."""
    letters = min(len(text), int(room))
    line = text  # no letter is narrower than a pixel
    while (len(line) > room or width(line, size, bold, **family) > room) and letters > 2:
        letters -= 1
        line = f"{text[: letters // 2]}…{text[-(letters // 2) :]}"
    return line


def banded(ax: Axes, left: float, top: float, wide: float, tall: float, kind: Kind) -> None:
    """A white box for text. The band at its top has the look of the memory that the box
    stands for.
    """
    ax.add_patch(Rectangle((left, top), wide, tall, facecolor="white", edgecolor=INK, linewidth=1))
    ax.add_patch(Rectangle((left + 0.5, top + 0.5), wide - 1, BAND, linewidth=0, **paint(kind)))


def pointed(
    ax: Axes,
    corners: Sequence[tuple[float, float]],
    color: str = INK,
    line: Any = "-",
    linewidth: float = 1.3,
) -> None:
    """An arrow along the corners, with its head at the last; `line` is a line style of
    matplotlib.
    """
    how = {
        "arrowstyle": "-|>,head_length=5,head_width=2.6",
        "joinstyle": "miter",
        "linewidth": linewidth,
    }
    ax.add_patch(FancyArrowPatch(path=Path(corners), color=color, linestyle=line, **how))


def lent(ax: Axes, start: float, end: float, y: float, words: str, color: str) -> None:
    """A dotted line between two places, for bytes that are lent and not copied, with words above
    it.
    """
    ax.plot((start, end), (y, y), color=color, linewidth=1.3, linestyle=(0, (1.5, 1.5)))
    ax.text((start + end) / 2, y - 4, words, ha="center", va="bottom", color=color)
