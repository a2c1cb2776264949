"""A slider over what was measured at each position of a knob."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, MultipleLocator

from ..measure.recording import METERS, Recording
from ..units import NOT_MEASURED, digits
from .boxes import width
from .figure import INK, KINDS, PAGE, QUIET, Interactive, Picture, look, picture, slider
from .words import amount, with_machine

Position = float | str
Measured = Recording | Mapping[str, float | None]
Meters = Sequence[str] | Mapping[str, str]
Rows = Mapping[str, Mapping[str, float | None]]  # position -> meter -> number
FRAME = {"left": 0.085, "right": 0.975, "top": 0.89, "bottom": 0.19, "wspace": 0.35}


def dial(
    label: str,
    results: Mapping[Position, Measured],
    meters: Meters,
    caption: str = "",
    first: Position | None = None,
) -> Interactive:
    """One to three panels, a meter each: a curve over the knob's positions, and a mark at the
    slider's.

    dial("Workers", recorded("09-workers", compare(…)), ["anonymous", "wall"])
    dial("Types", {1: {"a method": 31.0}, 4: {"a method": 48.0}}, {"a method": "ns"})

    `results` has for each position a Recording, or numbers by meter (None: not measured here).
    Numbers are put in order; texts keep theirs. Positions are equally far apart. `meters` are names
    in METERS, or {name: unit}: "bytes", "count", "seconds", or a text such as "ns"; panels with the
    same unit have the same scale. On paper it's the picture of the `first` position (default: the
    lowest). ValueError for an unknown position, for an unknown meter, and if there are fewer than
    two positions.
    """
    texts = any(isinstance(position, str) for position in results)
    words = {
        each: each if isinstance(each, str) else digits(each)
        for each in (results if texts else sorted(results))
    }
    positions = {word: results[position] for position, word in words.items()}
    start = next(iter(positions), "") if first is None else words.get(first, str(first))
    options = {word: word for word in positions}
    return slider(label, options, start, lambda at: _figure(label, positions, meters, at, caption))


@look()
def _figure(
    label: str, results: Mapping[str, Measured], meters: Meters, chosen: str, caption: str
) -> Picture:
    if len(results) < 2:
        raise ValueError(f"a slider needs two positions or more, not {len(results)}")
    if chosen not in results:
        raise ValueError(f"{label} has no position {chosen}; there are: {', '.join(results)}")
    if unknown := [
        meter for meter in meters if meter not in METERS and not isinstance(meters, Mapping)
    ]:
        known = f"say its unit, as in {{'a call': 'ns'}}, or take: {', '.join(METERS)}"
        raise ValueError(f"no meter {unknown[0]!r}; {known}")
    if not 1 <= len(meters) <= 3:
        raise ValueError(f"a picture has room for 1 to 3 meters, not {len(meters)}")
    units = (
        meters if isinstance(meters, Mapping) else {meter: METERS[meter].unit for meter in meters}
    )
    rows = {
        position: {
            meter: one.meter(meter) if isinstance(one, Recording) else one[meter] for meter in units
        }
        for position, one in results.items()
    }
    fig = Figure(figsize=(PAGE, 2.4))
    fig.subplots_adjust(**FRAME)
    panels = fig.subplots(1, len(units), squeeze=False)[0]
    for ax, meter in zip(panels, units, strict=True):
        _draw(ax, rows, meter, units, chosen)
        ax.set_xlabel(label.lower(), labelpad=2)
    sentences = {
        position: f"{label} {position}: {'; '.join(_numbers(rows, units, position))}."
        for position in rows
    }
    others = " ".join(sentences[position] for position in rows if position != chosen)
    alt = (
        f"{'; '.join(map(_title, units))}, by {label.lower()}. Marked: {sentences[chosen]} {others}"
    )
    recordings = {position: one for position, one in results.items() if isinstance(one, Recording)}
    caption = f"{caption} {sentences[chosen]}"
    return picture(fig, alt, with_machine(caption, recordings) if recordings else caption)


def _title(meter: str) -> str:
    return METERS[meter].title if meter in METERS else meter


def _numbers(rows: Rows, units: Mapping[str, str], position: str) -> list[str]:
    """The position's numbers, and how the first meter's compares with its lowest, unless it's the
    same everywhere.
    """
    numbers = [
        f"{_title(meter)} {amount(rows[position][meter], unit)}" for meter, unit in units.items()
    ]
    first = next(iter(units))
    value = rows[position][first]
    measured = [row[first] for row in rows.values() if row[first] is not None]
    if value is not None and 0 < (lowest := min(measured)) < max(measured):
        numbers[0] += (
            f" ({'its lowest' if value == lowest else f'{value / lowest:.1f} times its lowest'})"
        )
    return numbers


def _draw(ax: Axes, rows: Rows, meter: str, units: Mapping[str, str], chosen: str) -> None:
    unit = units[meter]
    words = list(rows)
    place = list(rows).index(chosen)
    ax.set_title(_title(meter))
    ax.set_xlim(-0.4, len(rows) - 0.6)
    # label as many positions as fit below the axis
    step = ax.get_position().width * PAGE * 96 / len(words)
    apart = 1
    while any((width(a) + width(b)) / 2 + 8 > apart * step for a, b in pairwise(words[::apart])):
        apart += 1
    ax.set_xticks(range(0, len(rows), apart), words[::apart])
    points = {at: row[meter] for at, row in enumerate(rows.values()) if row[meter] is not None}
    if not points:
        ax.text(
            0.5, 0.5, NOT_MEASURED, ha="center", va="center", transform=ax.transAxes, color=QUIET
        )
        ax.set_yticks([])
        return
    kind = KINDS.get(meter.partition(",")[0])  # "anonymous", and "anonymous, lent"
    color = kind.edge if kind else INK
    ax.axvline(place, color="#e2e2e2", linewidth=6, zorder=0)
    ax.plot(
        *zip(*points.items(), strict=True),
        color=color,
        linewidth=1.2,
        marker="o",
        markersize=3.2,
        clip_on=False,
    )
    alike = [
        row[each]
        for row in rows.values()
        for each in units
        if units[each] == unit and row[each] is not None
    ]
    highest = max(alike) or 1
    ax.set_ylim(0, 1.25 * highest)
    binary = MultipleLocator(2 ** math.ceil(math.log2(highest / 4)))
    ax.yaxis.set_major_locator(
        binary if unit == "bytes" else MaxNLocator(4, integer=unit == "count")
    )
    ax.yaxis.set_major_formatter(lambda value, _: amount(value, unit))
    if place not in points:
        return
    ring = {
        "markersize": 7,
        "markerfacecolor": "white",
        "markeredgewidth": 1.6,
        "clip_on": False,
        "zorder": 3,
    }
    ax.plot(place, points[place], color=color, marker="o", **ring)
    # The number stands at the top of the panel, clear of the curve; at an edge, shifted inwards.
    quarter = 4 * place / len(rows)
    side, shift = ("left", -3) if quarter < 1 else ("right", 3) if quarter >= 3 else ("center", 0)
    ax.annotate(
        amount(points[place], unit),
        (place, 1),
        xytext=(shift, -1),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha=side,
        va="top",
        fontweight="bold",
    )
