"""A sheet to draw on in the page's pixels, from its upper left corner; boxes whose band tells their memory."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from .figure import INK, PAGE, Kind, paint
from .fitting import width

WIDE, LINE, BAND, PAD = 680, 15, 10, 7  # the page, a line of words, a box's band, what is left free beside words


def sheet(height: float) -> tuple[Figure, Axes]:
    """As wide as the page; y grows downwards. To be called within `look()`."""
    fig = Figure(figsize=(PAGE, height / 96))
    ax = fig.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, WIDE), ylim=(height, 0))
    ax.set_axis_off()
    return fig, ax


def banded(ax: Axes, left: float, top: float, wide: float, tall: float, kind: Kind) -> None:
    """A white box for words, with a band at its top in the look of the memory that it stands for."""
    ax.add_patch(Rectangle((left, top), wide, tall, facecolor="white", edgecolor=INK, linewidth=1))
    ax.add_patch(Rectangle((left + 0.5, top + 0.5), wide - 1, BAND, linewidth=0, **paint(kind)))


def shortened(words: str, room: float, size: float = 8.5, bold: bool = False, family: str | None = None) -> str:
    """One line that fits `room` pixels: what is too long loses its middle, for names differ at both ends."""
    how = {"size": size, "bold": bold} | ({"family": family} if family else {})
    kept, fitting = min(len(words), int(room)), words  # no letter is narrower than a pixel
    while (len(fitting) > room or width(fitting, **how) > room) and kept > 2:
        kept -= 1
        fitting = f"{words[: kept // 2]}…{words[-(kept // 2) :]}"
    return fitting
