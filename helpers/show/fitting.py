"""How wide words are before they are drawn, and how they are broken to fit a box."""

import re
import textwrap
from functools import cache, lru_cache

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextToPath

from .figure import LOOK

SANS, MONO = LOOK["font.family"], "DejaVu Sans Mono"


@lru_cache(4096)
def width(words: str, size: float = LOOK["font.size"], bold: bool = False, family: str = SANS) -> float:
    """Of one line, in the page's pixels; `size` in points, of which a pixel is three quarters."""
    across, _, _ = _text_to_path().get_text_width_height_descent(words, _font(size, bold, family), ismath=False)
    return across * 96 / 72


def wrapped(words: str, room: float, size: float = LOOK["font.size"], bold: bool = False) -> list[str]:
    """The lines of `words` that fit `room` pixels; a number stays with its unit, a word too long is cut."""
    words = re.sub(r"(\d) ([KMG]?i?B\b|exports?\b)", "\\1\N{NO-BREAK SPACE}\\2", words)
    letters = max(1, len(words))
    while letters > 1:
        lines = textwrap.wrap(words, letters, break_on_hyphens=False)
        if all(width(line, size, bold) <= room for line in lines):
            return lines
        letters -= 1
    return textwrap.wrap(words, 1)


@cache
def _font(size: float, bold: bool, family: str) -> FontProperties:
    return FontProperties(family=family, size=size, weight="bold" if bold else "normal")


@cache
def _text_to_path() -> TextToPath:
    return TextToPath()
