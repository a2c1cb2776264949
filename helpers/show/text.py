"""Text that fits: its width in the page's pixels, its lines, and how it's written."""

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from .figure import LOOK, QUIET, WARNING

Line = tuple[str, Mapping[str, Any]]  # a text, and its look as keywords of matplotlib's Text

LINE = 15  # the page's pixels: from one line to the next
SIZE = LOOK["font.size"]
SANS = "DejaVu Sans"
MONO = "DejaVu Sans Mono"
PLAIN: Mapping[str, Any] = {}
BOLD = {"fontweight": "bold"}
FAINT = {"color": QUIET}
SMALL = {"color": QUIET, "fontsize": 7.5}
WARN = {"color": WARNING}


@lru_cache(4096)
def width(
    text: str, *, fontsize: float = SIZE, fontweight: str = "normal", family: str = SANS, **_: str
) -> float:
    """The width of a line in the page's pixels; a font's size is in points, and a pixel is three
    quarters of a point.
    """
    font = FontProperties(family=family, size=fontsize, weight=fontweight)
    across, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return across * 96 / 72


def wrapped(text: str, room: float, **look: Any) -> list[str]:
    """`text` in lines of at most `room` pixels; keeps numbers with their units, and breaks words
    that are too long.
    """
    text = re.sub(r"(\d) ([KMG]?i?B\b|exports?\b|%)", "\\1\N{NO-BREAK SPACE}\\2", text)
    for letters in range(len(text), 1, -1):
        lines = textwrap.wrap(text, letters, break_on_hyphens=False)
        if all(width(line, **look) <= room for line in lines):
            return lines
    return textwrap.wrap(text, 1)


def shortened(text: str, room: float, **look: Any) -> str:
    """Cuts the middle out of a line until it fits `room` pixels: names differ at their ends."""
    # no letter is narrower than a pixel
    letters = min(len(text), int(room))
    line = text
    while (len(line) > room or width(line, **look) > room) and letters > 2:
        letters -= 1
        line = f"{text[: letters // 2]}…{text[-(letters // 2) :]}"
    return line


def fitted(lines: Iterable[Line], room: float) -> list[Line]:
    """The texts in as many lines as they need to fit `room` pixels, about three for each line of
    theirs; without those that are empty.
    """
    return [
        (line, look)
        for text, look in lines
        if text
        for part in text.split("\n")
        for line in wrapped(shortened(part, 2.5 * room, **look), room, **look)
    ]


def write(ax: Axes, x: float, top: float, lines: Sequence[Line], **how: Any) -> None:
    """Writes one line below the other."""
    for number, (text, look) in enumerate(lines):
        middle = top + (number + 0.5) * LINE
        ax.text(x, middle, text, va="center_baseline", **{**how, **look})
