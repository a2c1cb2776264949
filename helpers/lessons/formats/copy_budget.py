"""What a way of loading copies, step by step: a chain of places from disk to object, with the bytes copied between."""

import math
from collections.abc import Collection, Mapping

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch

from ...show.boxes import BAND, LINE, PAD, WIDE, banded, sheet, shortened
from ...show.figure import ABSENT, ANONYMOUS, FILE, GRID, INK, QUIET, Kind, Picture, key, legend, look, picture
from ...show.fitting import width, wrapped
from ...units import NOT_MEASURED, in_words

Chain = Mapping[str, float | None]
MOST = 5  # places
KEYS, TITLE, FOOT, ARROW = 34, 26, 16, 62  # the page's pixels: legend, a way's name, space below its boxes, an arrow


def copy_budget(ways: Mapping[str, Chain], caption: str = "", made: Collection[str] = ()) -> Picture:
    """One row per way: a box for each place the bytes come to, and an arrow with the bytes copied into it.

    `{"json.loads": {"page cache": n, "bytes": n, "str": n, "objects": 4 * n}, "mapping": {"page cache": n, "array":
    0}}`: places in order. The first place has the bytes that lie there, every other place the bytes copied into it: 0
    if they're lent (the place then shows the memory of the place before), None if not measured. "disk" is no memory,
    "page cache" is file-backed memory, and a copy to any other place becomes anonymous memory. If the file was read
    before, its chain begins at the page cache. `made`: the places whose bytes are made rather than copied.

    ValueError for fewer than 2 places or more than 5, or for bytes below 0.
    """
    if not ways:
        raise ValueError("nothing to show: pass at least one way with its places")
    for way, chain in ways.items():
        if not 2 <= len(chain) <= MOST:
            raise ValueError(f"{way!r} has {len(chain)} places; a chain needs 2 to {MOST}")
        for place, copied in chain.items():
            if copied is not None and not 0 <= copied < math.inf:
                raise ValueError(f"{way!r} copies {copied} bytes into {place!r}; it should be a number from 0 up")
    across = (WIDE - 8 + ARROW) / max(map(len, ways.values())) - ARROW
    across = min(across, 150)
    lines = {place: wrapped(place, across - 2 * PAD) for chain in ways.values() for place in chain}
    tall = BAND + 2 * PAD + LINE * max(2, *map(len, lines.values()))
    with look():
        fig, ax = sheet(KEYS + len(ways) * (TITLE + tall + FOOT))
        for index, (way, chain) in enumerate(ways.items()):
            top = KEYS + index * (TITLE + tall + FOOT)
            ax.plot((4, WIDE - 4), (top - 6, top - 6), color=GRID, linewidth=0.6)
            total = _total(chain, made)
            ax.text(4, top + 2, shortened(way, WIDE - 24 - width(total), bold=True), va="top", fontweight="bold")
            ax.text(WIDE - 4, top + 2, total, ha="right", va="top", color=QUIET)
            for number, (place, kind) in enumerate(kinds(chain).items()):
                left, head = 4 + number * (across + ARROW), top + TITLE
                banded(ax, left, head, across, tall, kind)
                middle = head + (tall + BAND) / 2
                ax.text(left + across / 2, middle, "\n".join(lines[place]), ha="center", va="center", linespacing=1.25)
                if number:
                    _arrow(ax, left - ARROW, left, middle, chain[place], kind, "made" if place in made else "copied")
        disk = any("disk" in chain for chain in ways.values())
        legend(fig, key(ANONYMOUS), key(FILE), *[key(ABSENT._replace(word="no memory"))] * disk)
        return picture(fig, _alt(ways, made), caption)


def kinds(chain: Chain) -> dict[str, Kind]:
    """Each place's kind of memory. A place with lent bytes has the kind of the place before it."""
    found: dict[str, Kind] = {}
    before = ABSENT
    for place, copied in chain.items():
        fixed = {"disk": ABSENT, "page cache": FILE}.get(place)
        before = found[place] = fixed or (before if found and copied == 0 else ANONYMOUS)
    return found


def _arrow(ax: Axes, start: float, end: float, y: float, copied: float | None, kind: Kind, how: str) -> None:
    """A heavy arrow if bytes are copied; a dotted line in the colour of the lent memory if none are."""
    color = INK if copied else ABSENT.edge if copied is None else kind.edge
    if copied == 0:
        ax.plot((start, end), (y, y), color=color, linewidth=1.3, linestyle=(0, (1.5, 1.5)))
        ax.text((start + end) / 2, y - 4, "lent", ha="center", va="bottom", color=color)
        return
    head = "-|>,head_length=5,head_width=2.6"
    ax.add_patch(
        FancyArrowPatch((start, y), (end, y), arrowstyle=head, color=color, linewidth=2.4, shrinkA=2, shrinkB=2)
    )
    said = "?" if copied is None else in_words(copied, "bytes")
    for words, shift, side in ((said, -5, "bottom"), (how, 5, "top")):
        ax.text((start + end) / 2 - 2, y + shift, words, ha="center", va=side, color=color)


def _total(chain: Chain, made: Collection[str]) -> str:
    (first, start), *steps = chain.items()
    copied = [each for _, each in steps]
    if None in copied or start is None:
        return f"copied: {NOT_MEASURED}"
    if not any(copied):
        return "nothing copied"
    new = sum(each for place, each in steps if place in made)
    parts = {"copied": sum(copied) - new, "made": new}
    total = ", ".join(f"{in_words(size, 'bytes')} {how}" for how, size in parts.items() if size)
    times = sum(copied) / start if start else 0
    if times < 0.01:
        return total
    return f"{total}: {times:{'.2g' if times < 10 else ',.0f'}} × the {first}'s {in_words(start, 'bytes')}"


def _alt(ways: Mapping[str, Chain], made: Collection[str]) -> str:
    told = []
    for way, chain in ways.items():
        first, *places = chain
        steps = ", ".join(_step(chain[place], place, made) for place in places)
        told.append(f"{way}, from {first}: {steps}; {_total(chain, made)}.")
    return f"What is copied on the way to the object, one row per way. {' '.join(told)}"


def _step(copied: float | None, place: str, made: Collection[str]) -> str:
    if copied == 0:
        return f"lent to {place}"
    size = in_words(copied, "bytes")
    return f"{place} made ({size})" if place in made else f"copied ({size}) to {place}"
