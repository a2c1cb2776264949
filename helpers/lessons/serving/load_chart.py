"""A server under load, also while it runs: answers per second, and memory below, on the same scale of time."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ...measure.load import Load
from ...show.figure import ANONYMOUS, FILE, INK, PAGE, QUIET, WARNING, Picture, key, legend, look, paint, picture
from ...units import NOT_MEASURED, MiB, in_words

DONE = {"color": INK, "linestyle": (0, (1, 2)), "linewidth": 1}
FAILED = {"color": WARNING, "marker": "x", "linestyle": "", "markersize": 6, "markeredgewidth": 1.6}


def load_chart(load: Load, caption: str = "") -> Picture:
    """Above: answers per second; a dotted line wherever something was done, and a cross for each tick with failures.
    Below: the models' files, each page counted once, and how much anonymous memory the workers have taken since the
    first look. ValueError if nothing has been asked yet."""
    load = replace(load, ticks=load.ticks.copy(), looks=load.looks.copy())  # it may be growing
    if not load.ticks:
        raise ValueError("nothing to show: nobody has asked yet")
    with look():
        fig = Figure(figsize=(PAGE, 3.6))
        above, below = fig.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        fig.subplots_adjust(left=0.085, right=0.985, top=0.86, bottom=0.115, hspace=0.32)
        _draw_answers(above, load)
        _draw_memory(below, load)
        above.set_xlim(0, load.ticks[-1].at)
        below.set_xlabel("time, s")
        keys = [key(FILE), key(ANONYMOUS)]
        keys += [Line2D([], [], label="done to the server", **DONE)] * bool(load.marks)
        keys += [Line2D([], [], label="failed", **FAILED)] * bool(load.failed)
        legend(fig, *keys)
        return picture(fig, _alt(load), f"{caption} Measured on {load.machine}.".strip())


def watched(loads: Iterable[Load]) -> Iterator[Load]:
    """Passes them on, and draws every third, because drawing takes time from the server. A chart takes the place of
    all that this cell has shown; in the end that's cleared, and the cell's result takes its place."""
    from IPython.display import clear_output, display

    for number, load in enumerate(loads):
        if load.ticks and not number % 3:
            clear_output(wait=True)
            display(load_chart(load, "It is running."))
        yield load
    clear_output(wait=True)


def _draw_answers(ax: Axes, load: Load) -> None:
    ax.set_title("answers per second")
    rates = np.array([tick.answers / tick.took for tick in load.ticks])
    ax.plot([tick.at for tick in load.ticks], _smooth(rates), color=INK, linewidth=1.3)
    top = 1.25 * max(rates.max(), 1)
    ax.set_ylim(0, top)
    for at, what in load.marks:
        ax.axvline(at, **DONE)
        ax.annotate(what, (at, top), xytext=(2, -2), textcoords="offset points", va="top", fontsize=7.5, color=QUIET)
    failed = [tick.at for tick in load.ticks if tick.failed]
    ax.plot(failed, [0] * len(failed), clip_on=False, zorder=3, **FAILED)


def _smooth(values: np.ndarray) -> np.ndarray:
    """The mean of each value and its neighbours."""
    sums, counts = (np.convolve(each, np.ones(3))[1:-1] for each in (values, np.ones(len(values))))
    return sums / counts


def _draw_memory(ax: Axes, load: Load) -> None:
    ax.set_title("the models' files, and memory that all workers have taken since the beginning, MiB")
    seen = _seen(load)
    if not seen:
        ax.text(0.5, 0.5, NOT_MEASURED, ha="center", va="center", transform=ax.transAxes, color=QUIET)
        return
    times, file, taken = (np.array(column) for column in zip(*seen, strict=True))
    for low, high, kind in ((0, file, FILE), (file, file + taken, ANONYMOUS)):
        ax.fill_between(times, low / MiB, high / MiB, linewidth=0, step="post", **paint(kind))
    ax.set_ylim(0, 1.15 * max(file + taken) / MiB or 1)
    for at, _ in load.marks:
        ax.axvline(at, **DONE)


def _seen(load: Load) -> list[tuple[float, int, int]]:
    """For each look that saw memory: when, bytes of files, and bytes of anonymous memory beyond those of the first."""
    looks = [one for one in load.looks if one.anonymous is not None and one.file is not None]
    return [(one.at, one.file, max(0, one.anonymous - looks[0].anonymous)) for one in looks]


def _alt(load: Load) -> str:
    rates = sorted(tick.answers / tick.took for tick in load.ticks)
    told = (
        f"A server under load for {load.ticks[-1].at:.0f} s: {load.answers:,} answers; {load.failed:,} failed. "
        f"Answers per second: a median of {rates[len(rates) // 2]:,.0f}, from {rates[0]:,.0f} to {rates[-1]:,.0f}."
    )
    if load.marks:
        told += f" Done to the server: {', '.join(f'{what} at {at:.1f} s' for at, what in load.marks)}."
    if seen := _seen(load):
        _, file, taken = zip(*seen, strict=True)
        low, high, most = (in_words(size, "bytes") for size in (min(file), max(file), max(taken)))
        told += f" The models' files: {low} to {high}. Taken by all workers since the beginning: {most} at most."
    return told
