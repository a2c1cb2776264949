"""Small pictures, such as digits, with text under each: what a model took them for, and where it
was wrong.
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.patches import Rectangle

from .boxes import LINE, WIDE, sheet, width, wrapped
from .figure import GRID, WARNING, Picture, look, picture

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
    texts = [f"{WRONG * mark}{word}" for word, mark in zip(words, marked.tolist(), strict=True)]
    widest = max(width(text, bold=True) for text in texts)
    # as many per row as leave the words on one line
    most = max(NARROWEST, min(ROW, int(WIDE / (widest + AIR))))
    columns = max(NARROWEST, -(-len(texts) // -(-len(texts) // most)))  # the same in every row
    lines = [
        wrapped(text, WIDE / columns - AIR, bold=bool(mark))
        for text, mark in zip(texts, marked, strict=True)
    ]
    tall = SIDE + LINE * max(map(len, lines)) + 2 * AIR
    height = tall * -(-len(images) // columns)
    fig, ax = sheet(height)
    scale = SIDE / max(images.shape[1:])
    down, across = (scale * side for side in images.shape[1:])
    for index, image in enumerate(images):
        middle = (index % columns + 0.5) * WIDE / columns
        top = index // columns * tall + AIR
        left = middle - across / 2
        head = top + (SIDE - down) / 2
        place = (left, left + across, head + down, head)
        ax.imshow(
            image,
            "gray_r",
            vmin=0,
            vmax=images.max() or 1,
            interpolation="nearest",
            extent=place,
            aspect="auto",
        )
        frame = (
            {"edgecolor": WARNING, "linewidth": 2.4}
            if marked[index]
            else {"edgecolor": GRID, "linewidth": 1}
        )
        ax.add_patch(Rectangle((left, head), across, down, fill=False, **frame))
        how = {"fontweight": "bold", "color": WARNING} if marked[index] else {}
        ax.text(
            middle,
            top + SIDE + 6,
            "\n".join(lines[index]),
            ha="center",
            va="top",
            linespacing=1.25,
            **how,
        )
    ax.set(xlim=(0, WIDE), ylim=(height, 0))  # imshow moves them
    plural, (_, rows, dots) = "s" * (len(images) > 1), images.shape
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
