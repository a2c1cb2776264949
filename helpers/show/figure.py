"""The one layer between a drawing and a page: one look, one visual language, no picture without words."""

import base64
import html
import io
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import ipywidgets
import matplotlib.style
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from PIL import Image

from ..folders import write_whole

PAGE = 680 / 96  # inches: as wide as the page's column of 680 CSS pixels
INK, QUIET, GRID, WARNING = "#1b1b1b", "#565656", "#dcdcdc", "#a3123a"


class Kind(NamedTuple):
    """How one kind of memory looks, everywhere. Hatch and label carry what colour alone must not."""

    word: str
    face: str
    edge: str
    hatch: str | None


# The faces differ in grey too, and for colour-blind readers: in lightness, and by hatch.
ANONYMOUS = Kind("anonymous", "#f6a945", "#9c4a00", "////")
FILE = Kind("file-backed", "#3f7cb8", "#17456f", None)
SHARED = Kind("shared", "#5fb894", "#0d5a3e", "...")
ABSENT = Kind("absent", "#ebebeb", "#8a8a8a", None)
UNKNOWN = ABSENT._replace(word="kinds not measured here")
KINDS: Mapping[str, Kind] = {"anonymous": ANONYMOUS, "file": FILE, "shared": SHARED}
PREDICTED = {"color": INK, "linestyle": (0, (4, 2.5)), "linewidth": 1.1}

LOOK = {
    "font.family": "DejaVu Sans",  # matplotlib brings it along, so a picture is the same on every machine
    "font.size": 8.5,
    "text.color": INK,
    "text.parse_math": False,  # a method's name may hold a dollar
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8.5,
    "axes.labelcolor": QUIET,
    "axes.edgecolor": "#9a9a9a",
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": "#9a9a9a",
    "ytick.color": "#9a9a9a",
    "xtick.labelcolor": QUIET,
    "ytick.labelcolor": QUIET,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "xtick.major.size": 3,
    "ytick.major.size": 0,
    "hatch.linewidth": 0.9,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "legend.handlelength": 2.2,
    "legend.handleheight": 1.1,
    "legend.borderpad": 0,
    "legend.borderaxespad": 0.35,
    "legend.columnspacing": 1.6,
    "svg.fonttype": "path",
    "svg.hashsalt": "zero-copy",  # the same drawing gives the same bytes
    "figure.facecolor": "white",
    "figure.dpi": 96,
}
_FILLER = {"no description has been provided for this image", "a plot of the data", "alternative text goes here"}


def look() -> Any:
    """The context in which a figure is made, whatever the notebook has set: `with look(): fig = Figure(...)`."""
    return matplotlib.style.context(["default", LOOK])


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure that carries its words: a notebook shows the HTML, a terminal the alternative text."""

    figure: Figure
    alt: str
    caption: str

    @cached_property
    def png(self) -> bytes:
        """2.5 pixels for each of the page's, in 128 colours: crisp in print, and a third of a full-colour file.

        SVG was tried: outlines of letters and 400 points a panel made it three to five times as large.
        """
        with look():
            usual, small = self.figure.dpi, io.BytesIO()
            try:
                self.figure.set_dpi(240)
                canvas = FigureCanvasAgg(self.figure)
                canvas.draw()
                full = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
            finally:
                self.figure.set_dpi(usual)
            full.quantize(128, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(small, "PNG", dpi=(240, 240))
            return small.getvalue()

    @property
    def svg(self) -> bytes:
        """The same as vectors: for slides, and larger."""
        with look():
            buffer = io.BytesIO()
            self.figure.savefig(buffer, format="svg", metadata={"Date": None})
            return buffer.getvalue()

    def __repr__(self) -> str:
        return self.alt

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.png).decode()
        width = round(self.figure.get_figwidth() * 96)
        caption = f'<figcaption style="font-size:smaller;line-height:1.4">{html.escape(self.caption)}</figcaption>'
        return (
            f'<figure class="zc-figure" style="margin:0;max-width:{width}px">'
            f'<img alt="{html.escape(self.alt)}" width="{width}" style="max-width:100%;height:auto" '
            f'src="data:image/png;base64,{data}">{caption if self.caption else ""}</figure>'
        )

    def save(self, path: str | os.PathLike) -> None:
        """Write a .png or an .svg, whole or not at all; ValueError for another suffix."""
        path = Path(path)
        if path.suffix not in (".png", ".svg"):
            raise ValueError(f"a picture is saved as .png or .svg, not as {path.suffix or 'a name without suffix'!r}")
        write_whole(path, self.png if path.suffix == ".png" else self.svg)


def picture(fig: Figure, alt: str, caption: str = "") -> Picture:
    """`fig` with the words that stand for it. ValueError where they say nothing.

    The alternative text gives the figures that the drawing shows ("read: 256 MiB anonymous at its peak"), for a
    reader who cannot see it; the caption stands below, for everybody.
    """
    words = " ".join(alt.split())
    if len(words.split()) < 3 or words.lower().rstrip(".") in _FILLER:
        raise ValueError(f"{alt!r} is no alternative text; say in a sentence what the picture shows, with its figures")
    return Picture(fig, words, " ".join(caption.split()))


@dataclass(frozen=True, eq=False)
class Interactive:
    """A widget where a kernel runs, and the picture that stands for it everywhere else, shown as one output."""

    widget: Any
    picture: Picture

    def __repr__(self) -> str:
        return repr(self.picture)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {**self.widget._repr_mimebundle_(), "text/html": self.picture._repr_html_(), "text/plain": repr(self)}


def slider(description: str, words: Mapping[Any, str], first: Any, drawn: Callable[[Any], Picture]) -> Interactive:
    """A slider over the keys of `words`, each said so, and the picture that is `drawn` for the one it stands at.

    On paper, the picture of the `first`. Each is drawn once, when it is asked for.
    """
    kept = cache(drawn)
    widget = ipywidgets.SelectionSlider(
        options=[(said, key) for key, said in words.items()],
        value=first,
        description=description,
        style={"description_width": "initial"},
        layout={"width": "28em", "max_width": "100%"},
    )
    page = ipywidgets.HTML(kept(first)._repr_html_())
    widget.observe(lambda change: page.set_trait("value", kept(change["new"])._repr_html_()), "value")
    return Interactive(ipywidgets.VBox([widget, page]), kept(first))


def legend(fig: Figure, *keys: Any) -> None:
    """One row of keys above everything, in the order in which kinds are stacked."""
    fig.legend(handles=keys, ncols=len(keys), loc="upper left", bbox_to_anchor=(0.005, 1))


def key(kind: Kind) -> Patch:
    """What the legend says of a kind."""
    return Patch(label=kind.word, linewidth=0, **paint(kind))


def paint(kind: Kind) -> dict[str, Any]:
    """A kind's look as the keywords that a patch or a filled area takes; the edge colours the hatch."""
    return {"facecolor": kind.face, "edgecolor": kind.edge, "hatch": kind.hatch}
