"""A slider over what was measured at each position of a knob."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from matplotlib.axes import Axes

from ..measure.recording import METERS, Recording
from ..units import digits
from .cells import Panel, not_measured, y_axis
from .chart import Row, layout
from .figure import INK, KINDS, PAGE, Interactive, Picture, look, picture, slider
from .text import width
from .words import amount, with_machine

Position = float | str
Measured = Recording | Mapping[str, float | None]
Meters = Sequence[str] | Mapping[str, str]
Rows = Mapping[str, Mapping[str, float | None]]  # position -> meter -> number


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
    panels = [_panel(rows, meter, units, chosen, label.lower()) for meter in units]
    fig = layout([Row("", panels[:2]), *[Row("", [panels[0], each]) for each in panels[2:]]])
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
    value, measured = (
        rows[position][first],
        [row[first] for row in rows.values() if row[first] is not None],
    )
    if value is not None and 0 < (lowest := min(measured)) < max(measured):
        numbers[0] += (
            f" ({'its lowest' if value == lowest else f'{value / lowest:.1f} times its lowest'})"
        )
    return numbers


def _panel(rows: Rows, meter: str, units: Mapping[str, str], chosen: str, label: str) -> Panel:
    unit, words, place = units[meter], list(rows), list(rows).index(chosen)
    points = {at: row[meter] for at, row in enumerate(rows.values()) if row[meter] is not None}
    alike = [row[each] or 0 for row in rows.values() for each in units if units[each] == unit]
    highest = max(alike) or 1
    kind = KINDS.get(meter.partition(",")[0])  # "anonymous", and "anonymous, lent"
    color = kind.edge if kind else INK

    def plot(ax: Axes) -> None:
        ax.set_xlabel(label, labelpad=2)
        ax.set_xlim(-0.4, len(rows) - 0.6)
        # label as many positions as fit below the axis
        step, apart = ax.get_position().width * PAGE * 96 / len(words), 1
        while any(
            (width(a) + width(b)) / 2 + 8 > apart * step for a, b in pairwise(words[::apart])
        ):
            apart += 1
        ax.set_xticks(range(0, len(rows), apart), words[::apart])
        if not points:
            not_measured(ax)
            return
        ax.axvline(place, color="#e2e2e2", linewidth=6, zorder=0)
        how = {"color": color, "marker": "o", "clip_on": False}
        ax.plot(*zip(*points.items(), strict=True), linewidth=1.2, markersize=3.2, **how)
        y_axis(ax, unit, highest, 1.25 * highest)
        if place not in points:
            return
        ring = {"markersize": 7, "markerfacecolor": "white", "markeredgewidth": 1.6, "zorder": 3}
        ax.plot(place, points[place], **how, **ring)
        # The number stands at the top of the panel, clear of the curve; at an edge, inwards.
        quarter = 4 * place / len(rows)
        side = "left" if quarter < 1 else "right" if quarter >= 3 else "center"
        at = {"xycoords": ("data", "axes fraction"), "fontweight": "bold", "va": "top", "ha": side}
        ax.annotate(amount(points[place], unit), (place, 0.99), **at)

    return Panel(_title(meter), plot)
