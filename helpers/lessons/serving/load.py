"""A server under load, also while it runs: answers per second, and memory below, on the same scale
of time. And how much memory processes take that run already.
"""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from ...measure import Load, sampler
from ...show.cells import Panel, y_axis
from ...show.chart import Row, layout
from ...show.figure import ANONYMOUS, FILE, INK, WARNING, Picture, key, look, paint, picture
from ...show.text import SMALL
from ...units import NOT_MEASURED, in_words

MEMORY = "the models' files, and memory that all workers have taken since the beginning"
DONE = {"color": INK, "linestyle": (0, (1, 2)), "linewidth": 1}
FAILED = {
    "color": WARNING,
    "marker": "x",
    "linestyle": "",
    "markersize": 6,
    "markeredgewidth": 1.6,
}
INTERVAL = 0.001  # seconds


@look()
def load_chart(load: Load, caption: str = "") -> Picture:
    """Above: answers per second; a dotted line wherever something was done, and a cross for each
    tick with failures. Below: the models' files, each page counted once, and how much anonymous
    memory the workers have taken since the first look. ValueError if nothing has been asked yet.
    """
    load = replace(load, ticks=load.ticks.copy(), looks=load.looks.copy())  # it may be growing
    if not load.ticks:
        raise ValueError("nothing to show: nobody has asked yet")
    rates = np.array([tick.answers / tick.took for tick in load.ticks])
    end = load.ticks[-1].at
    alt = (
        f"A server under load for {end:.0f} s: {load.answers:,} answers; {load.failed:,} failed. "
        f"Answers per second: a median of {np.sort(rates)[len(rates) // 2]:,.0f}, from "
        f"{rates.min():,.0f} to {rates.max():,.0f}."
    )
    looks = [one for one in load.looks if one.anonymous is not None and one.file is not None]
    times = [one.at for one in looks]
    file, anonymous = (
        np.array([getattr(one, kind) for one in looks]) for kind in ("file", "anonymous")
    )
    taken = np.maximum(anonymous - anonymous[:1], 0)
    memory = f"Memory: {NOT_MEASURED}."
    if looks:
        least, most, grown = (
            in_words(size, "bytes") for size in (min(file), max(file), max(taken))
        )
        memory = (
            f"The models' files: {least} to {most}. Taken by all workers since the beginning: "
            f"{grown} at most."
        )
    keys = [key(FILE), key(ANONYMOUS)]
    if load.marks:
        alt += (
            f" Done to the server: {', '.join(f'{what} at {at:.1f} s' for at, what in load.marks)}."
        )
        keys.append(Line2D([], [], label="done to the server", **DONE))
    if load.failed:
        keys.append(Line2D([], [], label="failed", **FAILED))

    def answers(ax: Axes) -> None:
        beside = np.ones(3)  # drawn: the mean of each tick and its neighbours
        smooth = np.convolve(rates, beside)[1:-1] / np.convolve(np.ones(len(rates)), beside)[1:-1]
        ax.plot([tick.at for tick in load.ticks], smooth, color=INK, linewidth=1.3)
        top = 1.25 * max(rates.max(), 1)
        ax.set(xlim=(0, end), ylim=(0, top))
        failed = [tick.at for tick in load.ticks if tick.failed]
        ax.plot(failed, [0] * len(failed), clip_on=False, zorder=3, **FAILED)
        for at, what in load.marks:
            ax.axvline(at, **DONE)
            ax.text(at + 0.004 * end, 0.99 * top, what, va="top", **SMALL)

    def memories(ax: Axes) -> None:
        ax.set(xlim=(0, end), xlabel="time, s")
        for at, _ in load.marks:
            ax.axvline(at, **DONE)
        if not looks:
            middle = {"ha": "center", "va": "center", "transform": ax.transAxes}
            ax.text(0.5, 0.5, NOT_MEASURED, **middle)
            return
        for low, high, kind in ((0, file, FILE), (file, file + taken, ANONYMOUS)):
            ax.fill_between(times, low, high, linewidth=0, step="post", **paint(kind))
        highest = max(file + taken) or 1
        y_axis(ax, "bytes", highest, 1.15 * highest)

    panels = [Panel("answers per second", answers, high=130), Panel(MEMORY, memories, high=90)]
    fig = layout([Row("", [panel]) for panel in panels], keys=keys)
    return picture(fig, f"{alt} {memory}", f"{caption} Measured on {load.machine}.")


def watched(loads: Iterable[Load]) -> Iterator[Load]:
    """Passes them on, and draws every third, because drawing takes time from the server. A chart
    takes the place of all that this cell has shown; in the end that's cleared, and the cell's
    result takes its place.
    """
    from IPython.display import clear_output, display

    for number, load in enumerate(loads):
        if load.ticks and not number % 3:
            clear_output(wait=True)
            display(load_chart(load, "It is running."))
        yield load
    clear_output(wait=True)


@contextmanager
def growth(pids: Iterable[int]) -> Iterator[SimpleNamespace]:
    """Watches the processes from outside while the block runs. After it, what it yields has
    `anonymous`: bytes, of all the processes together; None where the system doesn't tell.
    """
    watched = [sampler.choose()(pid) for pid in pids]
    first = _anonymous(watched)
    result = SimpleNamespace(anonymous=None if first is None else 0)
    over = threading.Event()

    def watch() -> None:
        ended = False
        while not ended:
            # and once more after the block: what it left may be younger than a sample
            ended = over.wait(INTERVAL)
            if (now := _anonymous(watched)) is not None:
                result.anonymous = max(result.anonymous, now - first)

    thread = threading.Thread(target=watch if first is not None else over.wait)
    thread.start()
    try:
        yield result
    finally:
        over.set()
        thread.join()
        for each in watched:
            each.close()


def _anonymous(watched: list[sampler.Sampler]) -> int | None:
    samples = [sample for each in watched if (sample := each.read())]
    sizes = [sample.anonymous for sample in samples if sample.anonymous is not None]
    return sum(sizes) if sizes else None
