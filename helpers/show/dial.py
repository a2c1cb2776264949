"""A slider over what was measured at each position of a knob."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..measure.recording import METERS, Recording
from ..units import digits
from .cells import Bar
from .chart import Row, layout
from .figure import KINDS, Interactive, Picture, look, paint, picture, slider
from .meters import OTHER
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
    """A bar for each position of the knob, in one to three columns, a meter each; the slider's
    position is marked.

    dial("Workers", recorded("09-workers", compare(…)), ["anonymous", "wall"])
    dial("Types", {1: {"a method": 31.0}, 4: {"a method": 48.0}}, {"a method": "ns"})

    `results` has for each position a Recording, or numbers by meter (None: not measured here).
    Numbers are put in order; texts keep theirs. `meters` are names in METERS, or {name: unit}:
    "bytes", "count", "seconds", or a text such as "ns"; columns with the same unit have the same
    scale. On paper it's the picture of the `first` position (default: the lowest). ValueError for
    an unknown position, for an unknown meter, and if there are fewer than two positions.
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
    most = {unit: _most(rows, units, unit) for unit in units.values()}
    shown = []
    for position, row in rows.items():
        bars = []
        for meter, unit in units.items():
            kind = KINDS.get(meter.partition(",")[0], OTHER)  # "anonymous", and "anonymous, lent"
            part = (row[meter] or 0, paint(kind))
            strong = position == chosen
            bars.append(Bar([part], amount(row[meter], unit), most=most[unit], strong=strong))
        shown.append(Row(position, bars))
    heads = [f"{_title(meter)}, by {label.lower()}" for meter in units]
    alike = len(most) == 1
    fig = layout([replace(shown[0], heads=heads), *shown[1:]], alike=alike)
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
    if recordings:
        caption = with_machine(caption, recordings)
    return picture(fig, alt, caption, shown)


def _most(rows: Rows, units: Mapping[str, str], unit: str) -> float:
    """The largest number in this unit."""
    return max(row[meter] or 0 for row in rows.values() for meter in units if units[meter] == unit)


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
