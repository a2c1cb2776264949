"""Two questions at once, such as sequential or random, cold or warm: four panels with one bar per method."""

import textwrap
from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ...measure.recording import Comparison, Recording
from ...show.figure import INK, PAGE, QUIET, WARNING, Picture, look, picture
from ...show.meters import OTHER
from ...show.paths import faults
from ...show.words import ended, with_machine
from ...units import NOT_MEASURED, in_words

FASTEST = OTHER._replace(face="#4a4460")
TITLE, EACH, AXIS = 30, 38, 30  # the page's pixels: above a panel, a bar with its text, below a panel


Quarters = Mapping[tuple[str, str], Comparison | Mapping[str, Recording]]


def quadrants(comparisons: Quarters, caption: str = "") -> Picture:
    """Time as one bar per method, in two rows and two columns of panels. Each panel marks its fastest method.

    Compare methods within a panel: each panel has its own scale, from 0, and says so. The keys are pairs of row and
    column, such as ("sequential", "cold"). Small print below a bar says how much came from the device, how many faults
    (minor and major), and how many read calls. A run that didn't return is never the fastest. ValueError unless there
    are two rows and two columns, with something to show in each.
    """
    rows, columns = (list(dict.fromkeys(pair[i] for pair in comparisons)) for i in (0, 1))
    missing = [(row, column) for row in rows for column in columns if not comparisons.get((row, column))]
    if (len(rows), len(columns)) != (2, 2) or missing:
        raise ValueError(
            f"quadrants takes two rows and two columns of comparisons, not the rows {rows} and the columns {columns}"
            + (f", with nothing for {missing[0]}" if missing else "")
        )
    methods = list(dict.fromkeys(name for runs in comparisons.values() for name in runs))
    with look():
        labels = {name: textwrap.wrap(name, 16) for name in methods}
        left = 18 + 6.1 * max(len(line) for lines in labels.values() for line in lines)
        tall = TITLE + EACH * len(methods) + AXIS
        fig, across = Figure(figsize=(PAGE, (2 * tall + 4) / 96)), (680 - left - 54) / 2
        for index, (row, column) in enumerate((row, column) for row in rows for column in columns):
            x, y = left + index % 2 * (across + 32), index // 2 * tall + TITLE
            place = x / 680, 1 - (y + EACH * len(methods)) / (2 * tall + 4), across / 680
            ax = fig.add_axes((*place, EACH * len(methods) / (2 * tall + 4)))
            ax.set_title(f"{row}, {column}", pad=5)
            ax.set(ylim=(len(methods) - 0.5, -0.5))
            _scale(ax, max((run.wall or 0 for run in comparisons[row, column].values()), default=0) or 1)
            ax.set_yticks(range(len(methods)), ["\n".join(labels[n]) for n in methods] if index % 2 == 0 else [])
            ax.tick_params(axis="y", labelcolor=INK, labelsize=8.5)
            _draw(ax, comparisons[row, column], methods)
            if index // 2:
                ax.set_xlabel("time, s; each panel has its own scale", labelpad=2)
        recordings = {f"{pair}: {name}": run for pair, runs in comparisons.items() for name, run in runs.items()}
        return picture(fig, _alt(comparisons), with_machine(caption, recordings))


def fastest(methods: Mapping[str, Recording]) -> str | None:
    """The method that returned in the least time; None if there's no other to compare it with."""
    times = {name: run.wall for name, run in methods.items() if run.ended == "returned" and run.wall is not None}
    return min(times, key=times.__getitem__) if len(times) > 1 else None


def _scale(ax: Axes, longest: float) -> None:
    ax.set_xlim(0, 1.6 * longest)  # leaves space for text after the longest bar
    ax.xaxis.set_major_locator(MaxNLocator(4))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.grid(False, axis="y")


def _draw(ax: Axes, methods: Mapping[str, Recording], names: list[str]) -> None:
    best = fastest(methods)
    for y, name in enumerate(names):
        if name not in methods:
            continue
        run = methods[name]
        kind = FASTEST if name == best else OTHER
        wall, bar = run.wall or 0, y - 0.17
        ax.barh(bar, wall, 0.4, linewidth=0, facecolor=kind.face)
        back = {"facecolor": "white", "linewidth": 0, "pad": 0.6}  # hides the grid behind text
        said = {"va": "center_baseline", "textcoords": "offset points", "bbox": back}
        words = in_words(run.wall, "seconds") + " · fastest" * (name == best)
        weight = "bold" if name == best else "normal"
        ax.annotate(words, (wall, bar), xytext=(4, 0), fontweight=weight, **said)
        costs = " · ".join(f"{'?' if value is None else value} {noun}" for noun, value in _costs(run).items())
        note, color = (ended(run), WARNING) if ended(run) else (costs, QUIET)
        place = {"xycoords": ("axes fraction", "data"), "fontsize": 7.5, "color": color}
        ax.annotate(note, (0, y + 0.27), xytext=(3, 0), **place, **said)


def _costs(run: Recording) -> dict[str, str | None]:
    """What a run cost besides time: noun -> how much; None if not measured."""
    device, lent, calls = run.io.device_read_bytes, faults(run), run.io.read_calls
    return {
        "from device": None if device is None else in_words(device, "bytes"),
        "fault" if lent == 1 else "faults": None if lent is None else f"{lent:,}",
        "call" if calls == 1 else "calls": None if calls is None else f"{calls:,}",
    }


def _alt(comparisons: Quarters) -> str:
    told = []
    for (row, column), methods in comparisons.items():
        best = fastest(methods)
        for name, run in methods.items():
            costs = (f"{noun} {NOT_MEASURED}" if n is None else f"{n} {noun}" for noun, n in _costs(run).items())
            end = f", {ended(run)}" if ended(run) else ""
            mark = ", the fastest" * (name == best)
            told.append(f"{row}, {column}, {name}: {in_words(run.wall, 'seconds')}{mark}, {', '.join(costs)}{end}.")
    return f"Time as one bar per method, in four panels, each with its own scale. {' '.join(told)}"
