"""How much is borrowed and how much is owned: a bar from 0 to 100 % per row, in the look of the two memories."""

from collections.abc import Mapping

from matplotlib.patches import Rectangle

from ...show.boxes import LINE, WIDE, sheet, width, wrapped
from ...show.figure import ANONYMOUS, FILE, QUIET, Picture, key, legend, look, paint, picture
from ...show.words import alt_text

KEYS, SCALE, GAP, THICK = 32, 22, 11, 18  # the page's pixels: the legend, the scale below, between bars, a bar
LABEL = 190  # at most


@look()
def fractions(rows: Mapping[str, float], caption: str = "") -> Picture:
    """One bar per row: the borrowed part (blue, plain), then the owned part (orange, hatched).

    `rows` has a fraction from 0 to 1 for each name. ValueError if there are no rows, or if a number isn't 0 to 1.
    """
    if not rows or not all(0 <= fraction <= 1 for fraction in rows.values()):
        raise ValueError(f"pass at least one row, each with a fraction from 0 to 1, not {dict(rows)}")
    labels = {name: wrapped(name.replace(" %", "\N{NO-BREAK SPACE}%"), LABEL) for name in rows}
    words = {name: f"{percent(fraction)} borrowed" for name, fraction in rows.items()}
    left = 14 + max(width(line) for lines in labels.values() for line in lines)
    across = WIDE - left - 14 - max(map(width, words.values()))
    talls = {name: max(THICK, LINE * len(lines)) + GAP for name, lines in labels.items()}
    fig, ax = sheet(KEYS + sum(talls.values()) + SCALE)
    top = KEYS
    for name, fraction in rows.items():
        middle = top + (talls[name] - GAP) / 2
        for kind, start, end in ((FILE, 0, fraction), (ANONYMOUS, fraction, 1)):
            corner, wide = (left + start * across, middle - THICK / 2), (end - start) * across
            ax.add_patch(Rectangle(corner, wide, THICK, linewidth=0, **paint(kind)))
        ax.text(left - 8, middle, "\n".join(labels[name]), ha="right", va="center", linespacing=1.25)
        ax.text(left + across + 8, middle, words[name], va="center")
        top += talls[name]
    foot = top - GAP / 2
    for part in (0, 0.25, 0.5, 0.75, 1):
        ax.text(left + part * across, foot + 5, f"{100 * part:.0f} %", ha="center", va="top", color=QUIET, fontsize=8)
        ax.plot((left + part * across,) * 2, (foot, foot + 4), color=QUIET, linewidth=0.7)
    legend(fig, key(FILE._replace(word="borrowed")), key(ANONYMOUS._replace(word="owned")))
    parts = {name: [words[name], f"{percent(1 - fraction)} owned"] for name, fraction in rows.items()}
    return picture(fig, alt_text("Bars from 0 to 100 %, split into borrowed and owned", parts), caption)


def percent(fraction: float) -> str:
    """ "94 %"; never rounds a little to nothing, or nearly all to all."""
    if 0 < fraction < 0.01:
        return "under 1 %"
    return "over 99 %" if 0.99 < fraction < 1 else f"{100 * fraction:.0f} %"
