"""The layer between drawings and pages: one look, one visual language, no picture without
alternative text.
"""

import base64
import html
import io
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.style
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from PIL import Image

from ..folders import write_whole
from ..measure.pages import PageState
from ..widgets import Lasting

PAGE = 680 / 96  # inches: as wide as the page's column of 680 CSS pixels
LOOK = matplotlib.rc_params_from_file(
    Path(__file__).with_name("look.mplstyle"), use_default_template=False
)
INK, QUIET, GRID = (LOOK[name] for name in ("text.color", "axes.labelcolor", "grid.color"))
WARNING = "#a3123a"


class Kind(NamedTuple):
    """The look of one kind of memory in every picture. Hatch and label say it too: colour is never
    the only signal.
    """

    word: str
    face: str
    edge: str
    hatch: str | None


# In grey print and for colour-blind readers, the faces still differ in lightness and hatch.
ANONYMOUS = Kind("anonymous", "#f6a945", "#9c4a00", "////")
FILE = Kind("file-backed", "#3f7cb8", "#17456f", None)
SHARED = Kind("shared", "#5fb894", "#0d5a3e", "...")
ABSENT = Kind("absent", "#ebebeb", "#8a8a8a", None)
UNKNOWN = ABSENT._replace(word="kinds not measured here")
# Forked: paler than anonymous and hatched the other way, until a write gives a process its own
# copy. Swapped: grey like absent, because it's absent from memory, with the anonymous edge, because
# it must be kept.
FORKED = Kind("", "#fde6c4", ANONYMOUS.edge, "\\\\\\\\")
SWAPPED = Kind("", "#d8d8d8", ANONYMOUS.edge, "----")
LOOKS: Mapping[
    PageState, Kind
] = {  # of pages; a cell of several is filled in this order, from below
    PageState.ANONYMOUS: ANONYMOUS,
    PageState.FORKED: FORKED,
    PageState.SWAPPED: SWAPPED,
    PageState.SHARED: SHARED,
    PageState.FILE: FILE,
    PageState.ABSENT: ABSENT,
}
KINDS: Mapping[str, Kind] = {"anonymous": ANONYMOUS, "file": FILE, "shared": SHARED}
PREDICTED = {"color": INK, "linestyle": (0, (4, 2.5)), "linewidth": 1.1}
MARKS = (("o", INK), ("s", "#8a5a9e"), ("^", "#6b6b6b"), ("D", "#9a9a9a"))


def look() -> Any:
    """Overrides the notebook's matplotlib style: `@look()` above a function that draws, or `with
    look(): …`.
    """
    return matplotlib.style.context(["default", LOOK])


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure with its text: a notebook shows the HTML, a terminal the alternative text."""

    figure: Figure
    alt: str
    caption: str
    rows: Sequence[Any] = ()  # what it shows, as declared: a chart's rows

    @cached_property
    def png(self) -> bytes:
        """2.5 pixels per page pixel, in 128 colours: crisp in print, at a third of the size of full
        colour, and at a third or a fifth of an SVG's, which stores letters as outlines, and 400
        points per panel. Compressed as far as PNG goes, which takes 30 ms and saves an eighth.
        """
        full = io.BytesIO()
        small = io.BytesIO()
        with look():
            self.figure.savefig(full, format="png", dpi=240, pil_kwargs={"compress_level": 0})
        colours = (
            Image.open(full)
            .convert("RGB")
            .quantize(128, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        )
        colours.save(small, "PNG", dpi=(240, 240), optimize=True)
        return small.getvalue()

    def __repr__(self) -> str:
        return self.alt

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.png).decode()
        width = round(self.figure.get_figwidth() * 96)
        caption = (
            "<figcaption"
            f' style="font-size:smaller;line-height:1.4">{html.escape(self.caption)}</figcaption>'
        )
        return (
            f'<figure class="zc-figure" style="margin:0;max-width:{width}px"><img'
            f' alt="{html.escape(self.alt)}" width="{width}" style="max-width:100%;height:auto"'
            f' src="data:image/png;base64,{data}">{caption if self.caption else ""}</figure>'
        )

    def save(self, path: str | os.PathLike) -> None:
        """Writes a .png, or an .svg for slides, completely or not at all; ValueError for any other
        suffix.
        """
        path = Path(path)
        if path.suffix not in (".png", ".svg"):
            raise ValueError(f"can't save a picture as {path.name!r}: use the suffix .png or .svg")
        svg = io.BytesIO()
        if path.suffix == ".svg":
            with look():
                self.figure.savefig(svg, format="svg", metadata={"Date": None})
        write_whole(path, svg.getvalue() or self.png)


def picture(fig: Figure, alt: str, caption: str = "", rows: Sequence[Any] = ()) -> Picture:
    """`fig` with its alternative text, which gives the numbers in the drawing ("read: 256 MiB
    anonymous"), for those who can't see it, and a caption for everybody. ValueError for an
    alternative text of fewer than three words.
    """
    if len(alt.split()) < 3:
        raise ValueError(
            f"{alt!r} isn't an alternative text; describe the picture in a sentence, with its "
            "numbers"
        )
    return Picture(fig, " ".join(alt.split()), " ".join(caption.split()), rows)


@dataclass(eq=False)
class Interactive(Lasting):
    """A widget for when a kernel runs, and a picture for everywhere else, which `draw` replaces."""

    widget: Any
    picture: Picture

    def __repr__(self) -> str:
        return repr(self.picture)

    def _repr_html_(self) -> str:
        return self.picture._repr_html_()

    def draw(self, picture: Picture) -> None:
        """Takes this picture instead."""
        self.picture = picture
        self.renew()


def slider(
    label: str, words: Mapping[Any, str], first: Any, draw: Callable[[Any], Picture]
) -> Interactive:
    """A slider over the keys of `words`, labelled with its values, and the picture that `draw`
    makes for a key, once. On paper, the picture for `first`; in a notebook that is opened again,
    the last.
    """
    import ipywidgets

    picture_of = cache(draw)
    shown = picture_of(first)
    options = [(word, key) for key, word in words.items()]
    how = {
        "style": {"description_width": "initial"},
        "layout": {"width": "28em", "max_width": "100%"},
    }
    widget = ipywidgets.SelectionSlider(options=options, value=first, description=label, **how)
    page = ipywidgets.HTML(shown._repr_html_())
    both = Interactive(ipywidgets.VBox([widget, page]), shown)

    def moved(change: dict[str, Any]) -> None:
        both.draw(picture_of(change["new"]))
        page.value = both._repr_html_()

    widget.observe(moved, "value")
    return both


def key(kind: Kind) -> Patch:
    """A kind's entry in the legend."""
    return Patch(label=kind.word, linewidth=0, **paint(kind))


def guessed(kind: Kind) -> dict[str, Any]:
    """The same for a prediction: a dashed outline around the look of the kind that it's about."""
    return (
        paint(kind)
        | {"edgecolor": INK}
        | {name: PREDICTED[name] for name in ("linestyle", "linewidth")}
    )


def paint(kind: Kind) -> dict[str, Any]:
    """A kind's look as keywords for a patch or a filled area; the edge colours the hatch."""
    return {"facecolor": kind.face, "edgecolor": kind.edge, "hatch": kind.hatch}
