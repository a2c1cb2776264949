"""What a way of loading copies: a chain of places from disk to object, with the bytes copied
between; and how much is borrowed and how much is owned: a bar from 0 to 100 % per row.
"""

from collections.abc import Collection, Mapping

from matplotlib.patches import Rectangle

from ...show.boxes import (
    BAND,
    LINE,
    PAD,
    WIDE,
    banded,
    lent,
    pointed,
    sheet,
    shortened,
    width,
    wrapped,
)
from ...show.figure import (
    ABSENT,
    ANONYMOUS,
    FILE,
    GRID,
    INK,
    QUIET,
    Picture,
    key,
    legend,
    look,
    paint,
    picture,
)
from ...show.words import alt_text
from ...units import NOT_MEASURED, in_words

Chain = Mapping[str, float | None]
MOST_PLACES = 5
PLACES = {"disk": ABSENT, "page cache": FILE}  # any other is anonymous memory
# the page's pixels: legend, a way's name, space below its boxes, an arrow
KEYS, TITLE, FOOT, ARROW = (34, 26, 16, 62)
# of fractions: legend, the scale below, between bars, a bar
SHORT_KEYS, SCALE, GAP, THICK = (32, 22, 11, 18)
LABEL = 190  # at most


@look()
def copy_budget(
    ways: Mapping[str, Chain], caption: str = "", made: Collection[str] = ()
) -> Picture:
    """One row per way: a box for each place the bytes come to, and an arrow with the bytes copied
    into it.

    `{"json.loads": {"page cache": n, "bytes": n, "str": n, "objects": 4 * n}, "mapping": {"page
    cache": n, "array": 0}}`: places in order. The first place has the bytes that lie there, every
    other the bytes copied into it: 0 if they're lent, None if not measured. "disk" is no memory,
    "page cache" is file-backed memory, and a copy to any other place becomes anonymous memory.
    `made`: the places whose bytes are made rather than copied. ValueError for fewer than 2 places
    or more than 5, or for bytes below 0.
    """
    if not ways:
        raise ValueError("nothing to show: pass at least one way with its places")
    for way, chain in ways.items():
        if not 2 <= len(chain) <= MOST_PLACES or not all(
            copied is None or copied >= 0 for copied in chain.values()
        ):
            raise ValueError(
                f"{way!r} needs 2 to {MOST_PLACES} places, each with bytes from 0 up, not "
                f"{dict(chain)}"
            )
    across = min(150, (WIDE - 8 + ARROW) / max(map(len, ways.values())) - ARROW)
    lines = {place: wrapped(place, across - 2 * PAD) for chain in ways.values() for place in chain}
    tall = BAND + 2 * PAD + LINE * max(2, *map(len, lines.values()))
    fig, ax = sheet(KEYS + len(ways) * (TITLE + tall + FOOT))
    rows = {}
    for index, (way, chain) in enumerate(ways.items()):
        top = KEYS + index * (TITLE + tall + FOOT)
        total = _total(chain, made)
        steps = []
        ax.plot((4, WIDE - 4), (top - 6, top - 6), color=GRID, linewidth=0.6)
        ax.text(
            4,
            top + 2,
            shortened(way, WIDE - 24 - width(total), bold=True),
            va="top",
            fontweight="bold",
        )
        ax.text(WIDE - 4, top + 2, total, ha="right", va="top", color=QUIET)
        kind = ABSENT
        for number, (place, copied) in enumerate(chain.items()):
            # lent bytes stay in the memory of the place before
            if place in PLACES or number == 0 or copied != 0:
                kind = PLACES.get(place, ANONYMOUS)
            left = 4 + number * (across + ARROW)
            head = top + TITLE
            banded(ax, left, head, across, tall, kind)
            middle = head + (tall + BAND) / 2
            ax.text(
                left + across / 2,
                middle,
                "\n".join(lines[place]),
                ha="center",
                va="center",
                linespacing=1.25,
            )
            if number and copied == 0:
                lent(ax, left - ARROW, left, middle, "lent", kind.edge)
                steps.append(f"lent to {place}")
            elif number:
                verb = "made" if place in made else "copied"
                color = INK if copied else ABSENT.edge
                pointed(ax, [(left - ARROW + 2, middle), (left - 2, middle)], color, linewidth=2.4)
                size = in_words(copied, "bytes")
                for words, shift, side in (
                    ("?" if copied is None else size, -5, "bottom"),
                    (verb, 5, "top"),
                ):
                    ax.text(
                        left - ARROW / 2 - 2,
                        middle + shift,
                        words,
                        ha="center",
                        va=side,
                        color=color,
                    )
                steps.append(
                    f"{f'{place} made' if place in made else f'copied to {place}'} ({size})"
                )
        rows[f"{way}, from {next(iter(chain))}"] = [*steps, f"in all: {total}"]
    disk = any("disk" in chain for chain in ways.values())
    legend(fig, key(ANONYMOUS), key(FILE), *[key(ABSENT._replace(word="no memory"))] * disk)
    return picture(
        fig, alt_text("What is copied on the way to the object, one row per way", rows), caption
    )


def _total(chain: Chain, made: Collection[str]) -> str:
    (first, start), *steps = chain.items()
    copied = [each for _, each in steps]
    if None in copied or start is None:
        return f"copied: {NOT_MEASURED}"
    if not any(copied):
        return "nothing copied"
    new = sum(each for place, each in steps if place in made)
    parts = {"copied": sum(copied) - new, "made": new}
    total = ", ".join(f"{in_words(size, 'bytes')} {verb}" for verb, size in parts.items() if size)
    times = sum(copied) / start if start else 0
    if times < 0.01:
        return total
    return (
        f"{total}: {times:{'.2g' if times < 10 else ',.0f'}} × the {first}'s "
        f"{in_words(start, 'bytes')}"
    )


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
    labels = {name: wrapped(name.replace(" %", "\N{NO-BREAK SPACE}%"), LABEL) for name in rows}
    words = {name: f"{percent(fraction)} borrowed" for name, fraction in rows.items()}
    left = 14 + max(width(line) for lines in labels.values() for line in lines)
    across = WIDE - left - 14 - max(map(width, words.values()))
    talls = {name: max(THICK, LINE * len(lines)) + GAP for name, lines in labels.items()}
    fig, ax = sheet(SHORT_KEYS + sum(talls.values()) + SCALE)
    top = SHORT_KEYS
    for name, fraction in rows.items():
        middle = top + (talls[name] - GAP) / 2
        for kind, start, end in ((FILE, 0, fraction), (ANONYMOUS, fraction, 1)):
            corner = (left + start * across, middle - THICK / 2)
            wide = (end - start) * across
            ax.add_patch(Rectangle(corner, wide, THICK, linewidth=0, **paint(kind)))
        ax.text(
            left - 8, middle, "\n".join(labels[name]), ha="right", va="center", linespacing=1.25
        )
        ax.text(left + across + 8, middle, words[name], va="center")
        top += talls[name]
    foot = top - GAP / 2
    for part in (0, 0.25, 0.5, 0.75, 1):
        ax.text(
            left + part * across,
            foot + 5,
            f"{100 * part:.0f} %",
            ha="center",
            va="top",
            color=QUIET,
            fontsize=8,
        )
        ax.plot((left + part * across,) * 2, (foot, foot + 4), color=QUIET, linewidth=0.7)
    legend(fig, key(FILE._replace(word="borrowed")), key(ANONYMOUS._replace(word="owned")))
    parts = {
        name: [words[name], f"{percent(1 - fraction)} owned"] for name, fraction in rows.items()
    }
    return picture(
        fig, alt_text("Bars from 0 to 100 %, split into borrowed and owned", parts), caption
    )


def percent(fraction: float) -> str:
    """ "94 %"; never rounds a little to nothing, or nearly all to all."""
    if 0 < fraction < 0.01:
        return "under 1 %"
    return "over 99 %" if 0.99 < fraction < 1 else f"{100 * fraction:.0f} %"
