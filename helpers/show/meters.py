"""Method x meter as a table, and memory as bars."""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from ..measure.recording import METERS, Comparison, Recording
from ..measure.sharing import Sharing
from ..measure.tables import html_table, text_table
from ..units import NOT_MEASURED, in_words
from .figure import INK, KINDS, PAGE, Picture, guessed, key, legend, look, paint, picture
from .words import alt_text, by_name, checked, ended, with_machine


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


def table(comparison: Comparison | Mapping[str, Recording], *meters: str, caption: str = "") -> Table:
    """One row per method, one column per meter of METERS; by default, every meter that was measured."""
    methods = Comparison({name: [run] for name, run in comparison.items()})
    caption = caption or "Growth during the call, one fresh process per method."
    return Table(with_machine(caption, methods), *methods.table(*meters))


def shared_table(groups: Mapping[str, Sharing], caption: str = "") -> Table:
    """The memory of processes, group by group, with each group's sum: one row per process, one column per meter."""
    rows: list[tuple[str, ...]] = []
    for group, sharing in groups.items():
        header, processes = sharing.table()
        rows += [(f"{group}: {name}", *cells) for name, *cells in processes]
    return Table(caption or "Growth during the work, one row per process.", header, rows)


@look()
def bars(
    comparison: Comparison | Mapping[str, Recording],
    *kinds: str,
    predicted: Mapping[str, float | None] | None = None,
    caption: str = "",
) -> Picture:
    """One bar per method, of the `kinds` of memory end to end: "anonymous" (the default), "file", "shared".

    A bar has the peak of each kind, which needn't come at the same moment. `predicted` has the bytes of the first kind
    that the reader expects: a bar below what was measured, in the look of that kind; None for no prediction yet.
    ValueError for an unknown kind or method; `table` has the other meters.
    """
    methods = by_name(comparison)
    guesses = checked(predicted, methods)
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise ValueError(f"no kind of memory is called {unknown[0]!r}; there are: {', '.join(KINDS)}")
    shown = {name: kind for name, kind in KINDS.items() if name in (kinds or ("anonymous",))}
    titles, first = [METERS[name].title for name in shown], next(iter(shown.values()))
    values = {method: [run.meter(name) for name in shown] for method, run in methods.items()}
    highest = max(sum(value or 0 for value in bar) for bar in values.values())
    # A guess far above everything measured must not flatten the bars.
    end = max(highest, *(guess for guess in (0, *guesses.values()) if guess <= 3 * highest)) or 1
    words, rows = {}, {}
    for method, run in methods.items():  # beside a bar: the numbers large enough to see, or the largest; then the guess
        measured = [value for value in values[method] if value is not None]
        visible = [value for value in measured if value >= 0.05 * end] or sorted(measured)[-1:]
        words[method] = " + ".join(in_words(value, "bytes") for value in visible) or NOT_MEASURED
        rows[method] = [
            f"{title.replace(',', '')} {in_words(value, 'bytes')}"
            for title, value in zip(titles, values[method], strict=True)
        ]
        rows[method].append(ended(run))
        if method in guesses:
            guess = in_words(guesses[method], "bytes")
            words[method] += f" (you: {guess} {first.word}{' →' if guesses[method] > end else ''})"
            rows[method].append(f"you predicted {guess}")
    labels = [textwrap.fill(n if r.ended == "returned" else f"{n} ({r.ended})", 28) for n, r in methods.items()]
    # Laid out in inches: the names at the left, and space for the words, so there's no axis to read a number from.
    lines = [line for label in labels for line in label.splitlines()]
    left, each = 0.15 + 0.075 * max(map(len, lines)), 0.27 if len(lines) == len(labels) else 0.34
    room = 0.2 + 0.075 * max(map(len, words.values()))
    width = max(PAGE, left + room + 0.5)  # long text makes a wider picture, never shorter bars
    height, across = 0.56 + each * len(labels), width - left - room
    fig = Figure(figsize=(width, height))
    ax = fig.add_axes((left / width, 0.06 / height, across / width, each * len(labels) / height))
    ax.set_title("memory, peak of each kind" if len(shown) > 1 else titles[0], pad=4)
    ax.set(xlim=(0, end), ylim=(len(labels) - 0.5, -0.5), xticks=[])
    ax.set_yticks(range(len(labels)), labels)
    ax.tick_params(axis="y", labelcolor=INK, labelsize=8.5)
    ax.spines["bottom"].set_visible(False)
    ax.grid(False)
    for row, method in enumerate(methods):
        guess, at = guesses.get(method), 0.0
        thick = (0.62 if guess is None else 0.38) * 0.27 / each
        middle = row if guess is None else row - 0.12 * 0.27 / each
        for kind, value in zip(shown.values(), values[method], strict=True):
            ax.barh(middle, value or 0, thick, left=at, linewidth=0, **paint(kind))
            at += value or 0
        if guess is not None:
            wide, corner, tall = min(guess, 1.02 * end), (0, middle + thick / 2), 0.24 * 0.27 / each
            ax.add_patch(Rectangle(corner, wide, tall, zorder=3, clip_on=False, **guessed(first)))
            at = max(at, wide)
        how = {"textcoords": "offset points", "va": "center", "annotation_clip": False}
        ax.annotate(words[method], (at, row), xytext=(4, -0.5), **how)
    guess = [Patch(label=f"{first.word}, as you predicted", **guessed(first))] * bool(guesses)
    legend(fig, *map(key, shown.values()), *guess)
    return picture(fig, alt_text("Bars, one per method", rows), with_machine(caption, methods))
