"""Method x meter, as bars and as a table."""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from ..measure.recording import METERS, Comparison, meter_named
from ..measure.sharing import Sharing
from ..measure.tables import html_table, text_table
from ..units import NOT_MEASURED, in_words
from .figure import INK, KINDS, PAGE, Kind, Picture, guessed, key, legend, look, paint, picture
from .words import Methods, Predicted, alt_text, by_name, checked, ended, with_machine

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
    """One bar per method, one panel per meter of METERS (three at most); by default the peak of
    anonymous memory.

    "anonymous", "file" and "shared" go into one panel, end to end: the peak of each, which needn't
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
    first, *others = dict.fromkeys(kinds if name in KINDS else (name,) for name in names)
    if len(others) > 2:
        raise ValueError(
            f"{1 + len(others)} panels don't fit on a page; pass at most three meters, or use "
            "table()"
        )
    panels = [_Panel(first, methods, guesses), *(_Panel(names, methods, {}) for names in others)]
    shown = [name for panel in panels for name in panel.meters]
    keys = [key(KINDS[name]) for name in shown if name in KINDS]
    of = panels[0].kind.word or METERS[first[0]].title
    keys += [Patch(label=f"{of}, as you predicted", **guessed(panels[0].kind))] * bool(guesses)
    labels = [
        textwrap.fill(n if r.ended == "returned" else f"{n} ({r.ended})", 28)
        for n, r in methods.items()
    ]
    fig = _drawn(panels, labels, above=0.5 if keys else 0.26)
    legend(fig, *keys)
    rows = {}
    for name, run in methods.items():
        numbers = [
            f"{METERS[m].title.replace(',', '')} {in_words(run.meter(m), METERS[m].unit)}"
            for m in shown
        ]
        guess = (
            f"you predicted {in_words(guesses[name], METERS[shown[0]].unit)}"
            if name in guesses
            else ""
        )
        rows[name] = [*numbers, ended(run), guess]
    return picture(fig, alt_text("Bars, one per method", rows), with_machine(caption, methods))


class _Panel:
    """What one panel shows: each bar's values, guess and text, and the value that fills the panel's
    width.
    """

    def __init__(self, meters: tuple[str, ...], methods: Methods, guesses: Mapping[str, float]):
        self.meters, self.unit, self.kind = (
            meters,
            METERS[meters[0]].unit,
            KINDS.get(meters[0], OTHER),
        )
        self.title = "memory, peak of each kind" if len(meters) > 1 else METERS[meters[0]].title
        values = [[recording.meter(meter) for meter in meters] for recording in methods.values()]
        highest = max(sum(value or 0 for value in bar) for bar in values)
        # A guess far above everything measured must not flatten the bars.
        self.end = (
            max(highest, *(guess for guess in (0, *guesses.values()) if guess <= 3 * highest)) or 1
        )
        guesses_of = [guesses.get(name) for name in methods]
        self.bars = [
            (bar, guess, self.words(bar, guess))
            for bar, guess in zip(values, guesses_of, strict=True)
        ]

    def words(self, values: list[float | None], guess: float | None) -> str:
        """The numbers of one bar: those large enough to see, or the largest; then the guess."""
        measured = [value for value in values if value is not None]
        visible = [value for value in measured if value >= 0.05 * self.end] or sorted(measured)[-1:]
        words = " + ".join(in_words(value, self.unit) for value in visible) or NOT_MEASURED
        if guess is None:
            return words
        number = f"{in_words(guess, self.unit)} {self.kind.word}".strip()
        return f"{words} (you: {number}{' →' if guess > self.end else ''})"


def _drawn(panels: list[_Panel], labels: list[str], above: float) -> Figure:
    """Panels side by side, laid out in inches: the names at the left, and space after each panel
    for the numbers, which take the place of an axis.
    """
    lines = [line for label in labels for line in label.splitlines()]
    left = 0.15 + 0.075 * max(map(len, lines))
    each = 0.27 if len(lines) == len(labels) else 0.34
    rooms = [0.2 + 0.075 * max(len(words) for _, _, words in panel.bars) for panel in panels]
    # long text makes a wider picture, never shorter bars
    width = max(PAGE, left + sum(rooms) + 0.5 * len(panels))
    height = above + each * len(labels) + 0.06
    across = (width - left - sum(rooms)) / len(panels)
    fig = Figure(figsize=(width, height))
    for index, panel in enumerate(panels):
        x = left + index * across + sum(rooms[:index])
        ax = fig.add_axes((x / width, 0.06 / height, across / width, each * len(labels) / height))
        ax.set_title(panel.title, pad=4)
        ax.set(xlim=(0, panel.end), ylim=(len(labels) - 0.5, -0.5), xticks=[])
        ax.set_yticks(range(len(labels)), labels if index == 0 else [""] * len(labels))
        ax.tick_params(axis="y", labelcolor=INK, labelsize=8.5)
        ax.spines["bottom"].set_visible(False)
        ax.grid(False)
        for row, (values, guess, words) in enumerate(panel.bars):
            at = 0.0
            thick = (0.62 if guess is None else 0.38) * 0.27 / each
            middle = row if guess is None else row - 0.12 * 0.27 / each
            for meter, value in zip(panel.meters, values, strict=True):
                ax.barh(
                    middle,
                    value or 0,
                    thick,
                    left=at,
                    linewidth=0,
                    **paint(KINDS.get(meter, OTHER)),
                )
                at += value or 0
            if guess is not None:
                wide = min(guess, 1.02 * panel.end)
                corner = (0, middle + thick / 2)
                tall = 0.24 * 0.27 / each
                ax.add_patch(
                    Rectangle(corner, wide, tall, zorder=3, clip_on=False, **guessed(panel.kind))
                )
                at = max(at, wide)
            how = {"textcoords": "offset points", "va": "center", "annotation_clip": False}
            ax.annotate(words, (at, row), xytext=(4, -0.5), **how)
    return fig
