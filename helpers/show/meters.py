"""Method x meter, as bars and as a table."""

from collections.abc import Mapping
from dataclasses import dataclass

from matplotlib.patches import Patch

from ..measure.recording import METERS, Comparison, meter_named
from ..measure.sharing import Sharing
from ..measure.tables import html_table, text_table
from ..units import NOT_MEASURED, in_words
from .cells import Bar
from .chart import Row, chart
from .figure import KINDS, Kind, Picture, guessed, key, look, paint
from .words import Methods, Predicted, by_name, checked, ended, with_machine

# Times, calls and faults aren't memory, so they get a look of their own.
OTHER = Kind("", "#b9b4c4", "#6c6680", None)


@dataclass(frozen=True)
class Table:
    """A table that a notebook shows as HTML and a terminal as text. Cells are text, with units."""

    caption: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]

    def __repr__(self) -> str:
        return f"{text_table(self.header, self.rows)}\n{self.caption}"

    def _repr_html_(self) -> str:
        return html_table(self.caption, self.header, self.rows)


def table(comparison: Methods, *meters: str, caption: str = "") -> Table:
    """One row per method, one column per meter of METERS; by default, every meter that was
    measured.
    """
    methods = Comparison({name: [run] for name, run in comparison.items()})
    caption = caption or "Growth during the call, one fresh process per method."
    return Table(with_machine(caption, methods), *methods.table(*meters))


def shared_table(groups: Mapping[str, Sharing], caption: str = "") -> Table:
    """The memory of processes, group by group, with each group's sum: one row per process, one
    column per meter.
    """
    rows: list[tuple[str, ...]] = []
    for group, sharing in groups.items():
        header, processes = sharing.table()
        rows += [(f"{group}: {name}", *cells) for name, *cells in processes]
    return Table(caption or "Growth during the work, one row per process.", header, rows)


@look()
def bars(
    comparison: Methods, *meters: str, predicted: Predicted = None, caption: str = ""
) -> Picture:
    """One bar per method, one column per meter of METERS (three at most); by default the peak of
    anonymous memory.

    "anonymous", "file" and "shared" go into one column, end to end: the peak of each, which needn't
    come at the same moment. `predicted` has the reader's numbers for the first meter, in its unit
    (bytes, counts, seconds): a bar below what was measured, in the look of that meter; None for no
    prediction yet. ValueError for an unknown meter or method.
    """
    methods = by_name(comparison)
    guesses = checked(predicted, methods)
    names = meters or ("anonymous",)
    for name in names:
        meter_named(name)
    # The kinds of memory form one group, every other meter its own, in the order given.
    kinds = tuple(name for name in KINDS if name in names)
    groups = list(dict.fromkeys(kinds if name in KINDS else (name,) for name in names))
    if len(groups) > 3:
        raise ValueError(
            f"{len(groups)} panels don't fit on a page; pass at most three meters, or use table()"
        )
    first = groups[0][0]
    columns = [_column(group, methods, guesses if first in group else {}) for group in groups]
    heads = ["memory, peak of each kind" if len(g) > 1 else METERS[g[0]].title for g in groups]
    shown = [name for group in groups for name in group]
    rows = []
    for name, run in methods.items():
        words = [
            f"{METERS[m].title.replace(',', '')} {in_words(run.meter(m), METERS[m].unit)}"
            for m in shown
        ]
        if name in guesses:
            words.append(f"you predicted {in_words(guesses[name], METERS[first].unit)}")
        cells = [column[name] for column in columns]
        rows.append(
            Row(name, cells, [*words, ended(run)], warning=ended(run), heads=heads * (not rows))
        )
    keys = [key(KINDS[name]) for name in shown if name in KINDS]
    if guesses:
        kind = KINDS.get(first, OTHER)
        label = f"{kind.word or METERS[first].title}, as you predicted"
        keys.append(Patch(label=label, **guessed(kind)))
    return chart("Bars, one per method", rows, with_machine(caption, methods), keys=keys)


def _column(
    meters: tuple[str, ...], methods: Methods, guesses: Mapping[str, float]
) -> dict[str, Bar]:
    """A bar for each method, with its numbers: those large enough to see, or the largest; then the
    guess.
    """
    unit = METERS[meters[0]].unit
    kind = KINDS.get(meters[0], OTHER)
    values = {name: [run.meter(meter) for meter in meters] for name, run in methods.items()}
    most = max(sum(value or 0 for value in bar) for bar in values.values())
    # A guess far above everything measured must not flatten the bars.
    most = max([most, *(guess for guess in guesses.values() if guess <= 3 * most)])
    bars = {}
    for name, bar in values.items():
        measured = [value for value in bar if value is not None]
        visible = [value for value in measured if value >= 0.05 * most] or sorted(measured)[-1:]
        words = " + ".join(in_words(value, unit) for value in visible) or NOT_MEASURED
        guess = None
        if name in guesses:
            guess = guesses[name], guessed(kind)
            number = f"{in_words(guesses[name], unit)} {kind.word}".strip()
            words += f"\n(you: {number}{' →' if guesses[name] > most else ''})"
        looks = [paint(KINDS.get(meter, OTHER)) for meter in meters]
        parts = [(value or 0, look) for value, look in zip(bar, looks, strict=True)]
        bars[name] = Bar(parts, words, guess=guess, most=most)
    return bars
