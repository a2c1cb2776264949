"""How much is borrowed and how much is owned: a bar from 0 to 100 % per row."""

from collections.abc import Mapping

from ...show.cells import Bar
from ...show.chart import Row, chart
from ...show.figure import ANONYMOUS, FILE, Picture, key, look, paint


@look()
def fractions(rows: Mapping[str, float], caption: str = "") -> Picture:
    """One bar per row: the borrowed part (blue, plain), then the owned part (orange, hatched).
    `rows` has a fraction from 0 to 1 for each name. ValueError if there are no rows, or if a number
    isn't 0 to 1.
    """
    if not rows or not all(0 <= fraction <= 1 for fraction in rows.values()):
        raise ValueError(
            f"pass at least one row, each with a fraction from 0 to 1, not {dict(rows)}"
        )
    shown = []
    for name, fraction in rows.items():
        borrowed = f"{percent(fraction)} borrowed"
        parts = [(fraction, paint(FILE)), (1 - fraction, paint(ANONYMOUS))]
        words = [borrowed, f"{percent(1 - fraction)} owned"]
        shown.append(Row(name, [Bar(parts, borrowed)], words))
    keys = [key(FILE._replace(word="borrowed")), key(ANONYMOUS._replace(word="owned"))]
    opening = "Bars from 0 to 100 %, split into borrowed and owned"
    return chart(opening, shown, caption, keys=keys)


def percent(fraction: float) -> str:
    """ "94 %"; never rounds a little to nothing, or nearly all to all."""
    if 0 < fraction < 0.01:
        return "under 1 %"
    return "over 99 %" if 0.99 < fraction < 1 else f"{100 * fraction:.0f} %"
