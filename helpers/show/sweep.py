"""A sweep over chunk sizes: a curve with a lowest point, and a slider that moves along it."""

import math
from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, MultipleLocator

from ..measure.recording import METERS, Comparison, Recording
from ..units import NOT_MEASURED, in_words, size
from .figure import ANONYMOUS, INK, PAGE, QUIET, Interactive, Picture, look, picture, slider
from .words import with_machine

# What a sweep shows: names in METERS -> names in a sentence.
SHOWN = {"wall": "time", "anonymous": "anonymous memory at the peak", "read calls": "read calls"}


def sweep_figure(
    results: Mapping[int | str, Recording] | Comparison, chosen: int | str | None = None, caption: str = ""
) -> Picture:
    """Time, peak anonymous memory and read calls by chunk size, on an axis of powers of two.

    `results` has a recording for each chunk size, in bytes or as "64 KiB". The caption gives the numbers of the
    `chosen` size (default: the fastest), and the plots mark it. ValueError if it isn't in the results.
    """
    recordings = _by_size(results)
    mark = fastest(recordings) if chosen is None else size(chosen)
    if mark not in recordings:
        raise ValueError(f"no chunk of {in_words(mark, 'bytes')} was measured; there are: {_sizes(recordings)}")
    with look():
        fig = Figure(figsize=(PAGE, 3.6))
        grid = fig.add_gridspec(2, 2, left=0.075, right=0.985, top=0.93, bottom=0.12, wspace=0.22, hspace=0.72)
        for place, meter in zip((grid[:, 0], grid[0, 1], grid[1, 1]), SHOWN, strict=True):
            _draw(fig.add_subplot(place), recordings, meter, mark)
        return picture(fig, _alt(recordings, mark), with_machine(f"{caption} {said(recordings, mark)}", recordings))


def sweep(results: Mapping[int | str, Recording] | Comparison, caption: str = "") -> Interactive:
    """`sweep_figure` with a slider for the chosen size; on paper, the picture with the fastest size marked."""
    recordings = _by_size(results)
    words = {chunk: in_words(chunk, "bytes") for chunk in recordings}
    return slider("Chunk size", words, fastest(recordings), lambda chosen: sweep_figure(recordings, chosen, caption))


def fastest(recordings: Mapping[int, Recording]) -> int:
    """The chunk size with the least wall time; the first size if time wasn't measured."""
    return min(recordings, key=lambda chunk: math.inf if recordings[chunk].wall is None else recordings[chunk].wall)


def said(recordings: Mapping[int, Recording], chosen: int) -> str:
    """The chosen size's numbers in a sentence, and its time relative to the fastest."""
    run, best = recordings[chosen], recordings[fastest(recordings)]
    figures = (f"{words} {in_words(run.meter(meter), METERS[meter].unit)}" for meter, words in SHOWN.items())
    told = f"Chunks of {in_words(chosen, 'bytes')}: {', '.join(figures)}"
    if run.wall is None or not best.wall:
        return f"{told}."
    return f"{told}; {'the fastest' if run is best else f'{run.wall / best.wall:.1f} times as long as the fastest'}."


def _by_size(results: Mapping[int | str, Recording] | Comparison) -> dict[int, Recording]:
    recordings = {size(chunk): recording for chunk, recording in results.items()}
    if len(recordings) < 2:
        raise ValueError(f"a sweep needs two chunk sizes or more, not {len(recordings)}")
    return dict(sorted(recordings.items()))


def _sizes(recordings: Mapping[int, Recording]) -> str:
    return ", ".join(in_words(chunk, "bytes") for chunk in recordings)


def _draw(ax: Axes, recordings: Mapping[int, Recording], meter: str, chosen: int) -> None:
    title, unit, read = METERS[meter]
    points = [(chunk, read(recording)) for chunk, recording in recordings.items() if read(recording) is not None]
    ax.set_title(title)
    ax.set_xlabel("chunk size", labelpad=2)
    ax.set_xscale("log", base=2)
    chunks = list(recordings)
    ticks = [chunk for chunk in chunks if (math.log2(chunk) - math.log2(chunks[0])) % 4 == 0]
    ax.set_xticks(ticks, [in_words(chunk, "bytes") for chunk in ticks])
    ax.set_xticks([], minor=True)
    ax.set_xlim(chunks[0] / 1.6, chunks[-1] * 1.6)
    if not points:
        ax.text(0.5, 0.5, NOT_MEASURED, ha="center", va="center", transform=ax.transAxes, color=QUIET)
        ax.set_yticks([])
        return
    color = ANONYMOUS.edge if meter == "anonymous" else INK
    ax.axvline(chosen, color="#e2e2e2", linewidth=6, zorder=0)
    ax.plot(*zip(*points, strict=True), color=color, linewidth=1.2, marker="o", markersize=3.2, clip_on=False)
    highest = max(value for _, value in points) or 1
    ax.set_ylim(0, 1.25 * highest)
    binary = MultipleLocator(2 ** math.ceil(math.log2(highest / 4)))
    ax.yaxis.set_major_locator(binary if unit == "bytes" else MaxNLocator(4))
    ax.yaxis.set_major_formatter(lambda value, _: in_words(value, unit))
    value = read(recordings[chosen])
    if value is not None:
        ax.plot(
            chosen,
            value,
            color=color,
            marker="o",
            markersize=7,
            markerfacecolor="white",
            markeredgewidth=1.6,
            clip_on=False,
            zorder=3,
        )
        # At the top of the panel, clear of the curve; at an edge, shifted inwards.
        side = "left" if chosen in chunks[:2] else "right" if chosen in chunks[-2:] else "center"
        shift = {"left": -3, "center": 0, "right": 3}[side]
        ax.annotate(
            in_words(value, unit), (chosen, 1), xytext=(shift, -1), xycoords=("data", "axes fraction"),
            textcoords="offset points", ha=side, va="top", fontweight="bold",
        )  # fmt: skip


def _alt(recordings: Mapping[int, Recording], chosen: int) -> str:
    ends = " ".join(said(recordings, chunk) for chunk in (min(recordings), max(recordings)) if chunk != chosen)
    return f"Time, peak anonymous memory and read calls by chunk size. Marked: {said(recordings, chosen)} {ends}"
