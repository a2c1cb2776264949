"""Recordings to draw, what is written in a picture, and whether its text fits."""

from dataclasses import replace
from itertools import combinations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.patches import FancyArrowPatch, Rectangle
from matplotlib.text import Text

from helpers.measure import Comparison, Recording
from helpers.measure.machine import Machine
from helpers.show.figure import Picture
from helpers.units import MiB

SIZE = 256 * MiB
HERE = Machine("Linux 6.1", "a processor", 2, 8 * 2**30, "3.12.1", 4096, "ext4", 131072)
NO_KINDS = {"anonymous": None, "file": None, "shared": None}


def recording(name="read", anonymous=0, file=0, shared=0, n=101, wall=0.2, **more) -> Recording:
    """Memory that grows from nothing to its peak (MiB) in half the time."""
    growth = np.minimum(np.linspace(0, 2, n), 1) * MiB
    series = {
        kind: (growth * peak).astype(np.int64)
        for kind, peak in (("anonymous", anonymous), ("file", file), ("shared", shared))
    }
    times = np.linspace(0, wall or 0, n)
    given = {"times": times, "resident": sum(series.values()), "machine": HERE, "wall": wall}
    return Recording(name, **(given | series | more))


def unsplit(name: str, resident: int) -> Recording:
    """A recording from a system that can't tell the kinds of memory apart."""
    return replace(recording(name, resident), **NO_KINDS)


def comparison(*recordings: Recording) -> Comparison:
    return Comparison({one.name: [one] for one in recordings})


def texts(shown: Picture) -> list[str]:
    """Everything that's written in a picture, with plain spaces."""
    written = (text.get_text() for text in shown.figure.findobj(Text))
    return [words.replace("\N{NO-BREAK SPACE}", " ") for words in written if words]


def panels(shown: Picture) -> list[Axes]:
    """The plots that have axes of their own."""
    return shown.figure.axes[1:]


def arrows(shown: Picture) -> list[FancyArrowPatch]:
    return [one for one in shown.figure.axes[0].patches if isinstance(one, FancyArrowPatch)]


def rectangles(shown: Picture) -> list[Rectangle]:
    return [one for one in shown.figure.axes[0].patches if isinstance(one, Rectangle)]


def keys(shown: Picture) -> list[str]:
    return [text.get_text() for legend in shown.figure.legends for text in legend.get_texts()]


def _undrawn(shown: Picture) -> set[int]:
    """The labels that matplotlib keeps for ticks beyond the axis, and never draws."""
    axes = [axis for ax in shown.figure.axes for axis in (ax.xaxis, ax.yaxis)]
    return {
        id(tick.label1)
        for axis in axes
        for tick in axis.get_major_ticks()
        if not min(axis.get_view_interval()) <= tick.get_loc() <= max(axis.get_view_interval())
    }


def assert_fits(shown: Picture) -> None:
    """Asserts that all text is inside the figure, and that none overlaps other text or the edge of
    a box.
    """
    figure = shown.figure
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    words = [
        text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()
    ]
    words = [text for text in words if id(text) not in _undrawn(shown)]
    extents = [text.get_window_extent(canvas.get_renderer()).padded(-0.5) for text in words]
    boxes = [one.get_window_extent() for one in rectangles(shown)]
    page = figure.bbox
    for text, extent in zip(words, extents, strict=True):
        inside = (
            page.x0 <= extent.x0
            and extent.x1 <= page.x1
            and page.y0 <= extent.y0
            and extent.y1 <= page.y1
        )
        assert inside, f"{text.get_text()!r} leaves the page"
        for box in boxes:
            within = (
                box.x0 <= extent.x0
                and extent.x1 <= box.x1
                and box.y0 <= extent.y0
                and extent.y1 <= box.y1
            )
            assert within or not box.overlaps(extent), (
                f"{text.get_text()!r} lies over the edge of a box"
            )
    for (one, first), (other, second) in combinations(zip(words, extents, strict=True), 2):
        assert not first.overlaps(second), f"{one.get_text()!r} lies over {other.get_text()!r}"
