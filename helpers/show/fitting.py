"""How wide text will be once drawn, and where to break it to fit a box."""

import re
import textwrap
from functools import cache, lru_cache

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextToPath

from .figure import LOOK

SANS, MONO = LOOK["font.family"], "DejaVu Sans Mono"


@lru_cache(4096)
def width(text: str, size: float = LOOK["font.size"], bold: bool = False, family: str = SANS) -> float:
    """The width of a line in the page's pixels; `size` is in points, and a pixel is three quarters of a point."""
    across, _, _ = _text_to_path().get_text_width_height_descent(text, _font(size, bold, family), ismath=False)
    return across * 96 / 72


def wrapped(text: str, room: float, size: float = LOOK["font.size"], bold: bool = False) -> list[str]:
    """`text` in lines of at most `room` pixels; keeps numbers with their units, and breaks words that are too long."""
    text = re.sub(r"(\d) ([KMG]?i?B\b|exports?\b)", "\\1\N{NO-BREAK SPACE}\\2", text)
    letters = max(1, len(text))
    while letters > 1:
        lines = textwrap.wrap(text, letters, break_on_hyphens=False)
        if all(width(line, size, bold) <= room for line in lines):
            return lines
        letters -= 1
    return textwrap.wrap(text, 1)


@cache
def _font(size: float, bold: bool, family: str) -> FontProperties:
    return FontProperties(family=family, size=size, weight="bold" if bold else "normal")


@cache
def _text_to_path() -> TextToPath:
    return TextToPath()
