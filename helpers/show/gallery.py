"""Small pictures, such as digits, with text under each: what a model took them for, and where it
was wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from .chart import WIDE, Place, Row, layout, rectangle
from .figure import GRID, WARNING, Picture, look, picture
from .text import BOLD, LINE, PLAIN, WARN, Line, fitted, width, write

MOST, ROW, NARROWEST = 24, 8, 3  # pictures; per row; per row if their words are long
WRONG = "✗ "
# the page's pixels: a picture's longer side; the space around a picture and its words
SIDE, AIR = (64, 12)


@look()
def gallery(
    images: np.ndarray,
    words: Sequence[object],
    wrong: Sequence[int] | np.ndarray = (),
    caption: str = "",
) -> Picture:
    """Pictures in rows, dark for large numbers, each with its words; pictures in `wrong` get a
    heavy frame and a ✗.

    images  (n, height, width) of numbers, n up to 24; the largest number is black, 0 is white
    words   a short text or a number for each picture
    wrong   indices of pictures, or n bools, such as `read != labels`

    ValueError for other shapes, or numbers that are negative or not finite; IndexError for a wrong
    index.
    """
    images = np.asarray(images)
    if images.ndim != 3 or not images.size or len(images) > MOST:
        raise ValueError(
            f"images of shape {images.shape}; a gallery takes (n, height, width), n from 1 to "
            f"{MOST}"
        )
    if len(words) != len(images):
        raise ValueError(f"{len(words)} words for {len(images)} pictures; pass one per picture")
    if not np.isfinite(images).all() or images.min() < 0:
        raise ValueError(
            f"the numbers in the pictures range from {images.min()} to {images.max()}; use 0 and "
            "above"
        )
    marked = np.zeros(len(images), int)
    marked[np.asarray(wrong) if len(wrong) else []] = 1
    cells = [
        _Image(image, f"{WRONG * bool(mark)}{word}", images.max() or 1, bool(mark))
        for image, word, mark in zip(images, words, marked, strict=True)
    ]
    # fewer per row if that leaves their words on one line
    most = int(WIDE / (max(width(cell.words, **BOLD) for cell in cells) + AIR))
    across = max(NARROWEST, min(ROW, most, len(cells)))
    rows = [Row("", cells[start : start + across]) for start in range(0, len(cells), across)]
    fig = layout(rows, gap=AIR)
    plural = "s" * (len(images) > 1)
    (_, rows, dots) = images.shape
    alt = (
        f"{len(images)} picture{plural} of {dots} by {rows} pixels, with the words: "
        f"{'; '.join(map(str, words))}."
    )
    if marked.any():
        alt += (
            " Marked as wrong: "
            f"{', '.join(f'picture {i + 1} ({words[i]})' for i in np.flatnonzero(marked))}."
        )
    return picture(fig, alt, caption)


@dataclass(frozen=True)
class _Image:
    pixels: np.ndarray  # (rows, columns)
    words: str
    darkest: float
    wrong: bool

    def lines(self, wide: float) -> list[Line]:
        return fitted([(self.words, BOLD | WARN if self.wrong else PLAIN)], wide)

    def tall(self, wide: float) -> float:
        return SIDE + 6 + LINE * len(self.lines(wide))

    def draw(self, ax: Axes, place: Place, column: Sequence[Any]) -> None:
        down, across = (SIDE * side / max(self.pixels.shape) for side in self.pixels.shape)
        left = place.center - across / 2
        top = place.top + (SIDE - down) / 2
        frame = Place(left, top, left + across, top + down)
        place_of_image = (frame.left, frame.right, frame.foot, frame.top)
        how = {"interpolation": "nearest", "aspect": "auto", "extent": place_of_image}
        ax.imshow(self.pixels, "gray_r", vmin=0, vmax=self.darkest, **how)
        edge = (WARNING, 2.4) if self.wrong else (GRID, 1)
        rectangle(ax, frame, fill=False, edgecolor=edge[0], linewidth=edge[1])
        write(ax, place.center, place.top + SIDE + 6, self.lines(place.wide), ha="center")
