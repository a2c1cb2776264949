"""Small pictures, such as digits, with text under each: what a model took them for, and where it was wrong."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from .boxes import LINE, WIDE, sheet
from .figure import GRID, WARNING, Picture, look, picture
from .fitting import width, wrapped

MOST, ROW, NARROWEST = 24, 8, 3  # pictures; per row; per row if their words are long
WRONG = "✗ "
SIDE, AIR = 64, 12  # the page's pixels: a picture's longer side; the space around a picture and its words


def gallery(
    images: np.ndarray, words: Sequence[object], wrong: Sequence[int] | np.ndarray = (), caption: str = ""
) -> Picture:
    """Pictures in rows, dark for large numbers, each with its words; pictures in `wrong` get a heavy frame and a ✗.

    images  (n, height, width) of numbers, n up to 24; the largest number is black, 0 is white
    words   a short text or a number for each picture
    wrong   indices of pictures, or n bools, such as `read != labels`

    ValueError for other shapes, numbers that are negative or not finite, or an index out of range.
    """
    images = np.asarray(images)
    if images.ndim != 3 or not images.size or len(images) > MOST:
        raise ValueError(f"images of shape {images.shape}; a gallery takes (n, height, width), n from 1 to {MOST}")
    if len(words) != len(images):
        raise ValueError(f"{len(words)} words for {len(images)} pictures; pass one per picture")
    if not np.isfinite(images).all() or images.min() < 0:
        raise ValueError(f"the numbers in the pictures range from {images.min()} to {images.max()}; use 0 and above")
    marked = _marked(np.asarray(wrong), len(images))
    said = [f"{WRONG * (index in marked)}{word}" for index, word in enumerate(words)]
    columns = _columns(said)
    lines = [wrapped(each, WIDE / columns - AIR, bold=index in marked) for index, each in enumerate(said)]
    tall = SIDE + LINE * max(map(len, lines)) + 2 * AIR
    with look():
        fig, ax = sheet(tall * -(-len(images) // columns))
        for index, image in enumerate(images):
            middle, top = (index % columns + 0.5) * WIDE / columns, index // columns * tall + AIR
            _draw(ax, image, images.max() or 1, middle, top, index in marked)
            how = {"fontweight": "bold", "color": WARNING} if index in marked else {}
            ax.text(middle, top + SIDE + 6, "\n".join(lines[index]), ha="center", va="top", linespacing=1.25, **how)
        ax.set(xlim=(0, WIDE), ylim=(tall * -(-len(images) // columns), 0))  # imshow moves them
        return picture(fig, _alt(images, words, marked), caption)


def _marked(wrong: np.ndarray, count: int) -> list[int]:
    if wrong.dtype == bool:
        if wrong.shape != (count,):
            raise ValueError(f"wrong is bools of shape {wrong.shape}; pass one for each of {count} pictures")
        wrong = np.flatnonzero(wrong)
    for index in wrong.tolist():
        if not isinstance(index, int) or index not in range(count):
            raise ValueError(f"wrong has {index!r}; the pictures are numbered from 0 to {count - 1}")
    return sorted(set(wrong.tolist()))


def _columns(said: list[str]) -> int:
    """As many per row as leave the words on one line, spread evenly over the rows."""
    widest = max(width(words, bold=True) for words in said)
    most = max(NARROWEST, min(ROW, int(WIDE / (widest + AIR))))
    rows = -(-len(said) // most)
    return max(NARROWEST, -(-len(said) // rows))


def _draw(ax: Axes, image: np.ndarray, darkest: float, middle: float, top: float, marked: bool) -> None:
    height, across = (SIDE * side / max(image.shape) for side in image.shape)
    left, head = middle - across / 2, top + (SIDE - height) / 2
    place = (left, left + across, head + height, head)
    ax.imshow(image, "gray_r", vmin=0, vmax=darkest, interpolation="nearest", extent=place, aspect="auto")
    frame = {"edgecolor": WARNING, "linewidth": 2.4} if marked else {"edgecolor": GRID, "linewidth": 1}
    ax.add_patch(Rectangle((left, head), across, height, fill=False, **frame))


def _alt(images: np.ndarray, words: Sequence[object], marked: list[int]) -> str:
    count, height, across = images.shape
    told = f"{count} picture{'s' * (count > 1)} of {across} by {height} pixels, with the words: "
    told += f"{'; '.join(map(str, words))}."
    if not marked:
        return told
    return f"{told} Marked as wrong: {', '.join(f'picture {index + 1} ({words[index]})' for index in marked)}."
