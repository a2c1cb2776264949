"""Memory over time: one panel per method, all on the same scale."""

import math
import textwrap
from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import MaxNLocator, MultipleLocator

from ..measure.account import at
from ..measure.recording import Mark, Recording
from ..units import MiB, in_words
from .figure import (
    KINDS,
    PAGE,
    PREDICTED,
    QUIET,
    UNKNOWN,
    WARNING,
    Picture,
    guessed,
    key,
    legend,
    look,
    paint,
    picture,
)
from .words import (
    Methods,
    Predicted,
    alt_text,
    by_name,
    checked,
    ended,
    left_words,
    peaks,
    with_machine,
)

# around a text that stands on a curve
BOX = {"facecolor": "white", "alpha": 0.85, "linewidth": 0, "pad": 0.8}
MOST_MARKS = 30  # whose names a panel has room for
POINTS = 400  # per panel: more than its pixels on the page


@look()
def curves(
    recordings: Methods | Recording,
    predicted: Predicted = None,
    caption: str = "",
    stays: bool = False,
) -> Picture:
    """Anonymous, file-backed and shared memory stacked over time, one panel per method, on one
    scale.

    `predicted` is the peak of anonymous memory that the reader expects, bytes by method: a bar at
    the panel's right, in the look of that kind. None for no prediction yet, ValueError for an
    unknown method. If this machine can't tell the kinds apart, a panel shows all resident memory in
    grey and says so. A dotted line stands where the function has called `mark`; with `stays`, a dot
    where the call ended, with what stayed.
    """
    methods = by_name(recordings)
    guesses = checked(predicted, methods)
    longest = max(max(r.times.max(initial=0), r.wall or 0) for r in methods.values())
    highest = max(MiB, *(int(_stack(r).sum(axis=0).max(initial=0)) for r in methods.values()))
    # A guess far above everything measured must not flatten the curves.
    top = (
        1.15
        * max(highest, *(guess for guess in (0, *guesses.values()) if guess <= 3 * highest))
        / MiB
    )
    unit, factor = ("ms", 1000) if longest < 1 else ("s", 1)
    end = longest * factor or 1
    texts, rows = {}, {}
    for name, recording in methods.items():
        end_words = ended(recording)
        all_peaks = peaks(recording)
        visible = [peak for peak in all_peaks if peak[0] >= 0.05 * top * MiB] or [max(all_peaks)]
        each = (
            [f"{in_words(value, 'bytes')} {word}" for value, word in some]
            for some in (all_peaks, visible)
        )
        words, note = map(", ".join, each)
        lines = textwrap.wrap(note, 31, break_on_hyphens=False) + [end_words] * bool(end_words)
        texts[name] = textwrap.fill(name, 26), "\n".join(lines), WARNING if end_words else QUIET
        took = f"in {in_words(recording.wall, 'seconds')}" if recording.wall is not None else ""
        guess = (
            f"you predicted {in_words(guesses[name], 'bytes')} anonymous" if name in guesses else ""
        )
        marked = [f"“{mark.name}” at {at(mark)}" for mark in _labelled(recording, longest)]
        stay = left_words(recording) if stays else ""
        rows[name] = [f"{words} at its peak", took, *marked, stay, end_words, guess]
    fig, panels = _panels(texts, f"time, {unit}")
    for ax, (name, recording) in zip(panels, methods.items(), strict=True):
        _draw(ax, recording, factor, top)
        if stays and recording.left:
            _draw_rest(ax, recording, factor, longest)
        _draw_marks(ax, recording, factor, longest)
        if name in guesses:
            _draw_guess(ax, guesses[name], end, top)
    ax.set(xlim=(0, (1.11 if guesses else 1) * end), ylim=(0, top))
    ax.yaxis.set_major_locator(MultipleLocator(2 ** math.ceil(math.log2(top / 4.5))))
    ax.xaxis.set_major_locator(MaxNLocator(4 if len(panels) > 1 else 8))
    split = [recording for recording in methods.values() if recording.anonymous is not None]
    shared = any(recording.peak.shared for recording in split)
    kinds = [kind for name, kind in KINDS.items() if split and (name != "shared" or shared)]
    kinds += [UNKNOWN] * (len(split) < len(methods))
    guess = [Patch(label="anonymous, as you predicted", **guessed(KINDS["anonymous"]))] * bool(
        guesses
    )
    legend(fig, *map(key, kinds), *guess)
    return picture(
        fig,
        alt_text("Memory over time, one panel per method", rows),
        with_machine(caption, methods),
    )


def thinned(
    times: np.ndarray, stack: np.ndarray, points: int = POINTS
) -> tuple[np.ndarray, np.ndarray]:
    """At most `points` samples: the highest and lowest total of each stretch of time, and every
    kind's peak, so that even a one-sample spike survives. times (n,) seconds; stack (kinds, n)
    bytes.
    """
    if len(times) <= points:
        return times, stack
    total = stack.sum(axis=0)
    indices = {0, len(times) - 1, *stack.argmax(axis=1)}
    for stretch in np.array_split(np.arange(len(times)), (points - len(stack) - 2) // 2):
        indices |= {stretch[total[stretch].argmax()], stretch[total[stretch].argmin()]}
    index = np.array(sorted(indices))
    return times[index], stack[:, index]


def _stack(recording: Recording) -> np.ndarray:
    """(kinds, n) bytes, never below 0: the three kinds, or all resident memory if nothing told them
    apart.
    """
    if recording.anonymous is None:
        return np.maximum(recording.resident, 0)[None]
    empty = np.zeros_like(recording.anonymous)
    series = (getattr(recording, kind) for kind in KINDS)
    return np.stack([empty if samples is None else np.maximum(samples, 0) for samples in series])


def _panels(texts: Mapping[str, tuple[str, str, str]], x_label: str) -> tuple[Figure, list[Axes]]:
    """Panels laid out in inches, so a long name can't squeeze them; above each its title and its
    note, in a colour.
    """
    columns = {1: 1, 2: 2, 4: 2}.get(len(texts), 3)
    rows = -(-len(texts) // columns)
    width, height = (PAGE, 1.05) if columns > 1 else (0.72 * PAGE, 1.7)
    left, right, keys, below, gap = 0.52, 0.12, 0.22, 0.26, 0.3
    titles, notes = (max(1 + text[part].count("\n") for text in texts.values()) for part in (0, 1))
    note_height = 0.155 * notes
    head = note_height + 0.165 * titles + 0.14
    total = keys + rows * (head + height + below) + 0.14
    across = (width - left - right - (columns - 1) * gap) / columns
    fig = Figure(figsize=(width, total))
    panels = list(fig.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat)
    fig.subplots_adjust(
        left / width,
        (below + 0.14) / total,
        1 - right / width,
        1 - (keys + head) / total,
        gap / across,
        (head + below) / height,
    )
    for ax in panels[len(texts) :]:
        ax.remove()
    for index, (ax, (title, note, color)) in enumerate(zip(panels, texts.values(), strict=False)):
        ax.set_title(title, pad=72 * (note_height + 0.08))
        ax.annotate(
            note,
            (0, 1),
            xytext=(0, 72 * (note_height + 0.04)),
            xycoords="axes fraction",
            textcoords="offset points",
            color=color,
            va="top",
        )
        ax.tick_params(labelbottom=index + columns >= len(texts))
        ax.set_ylabel("MiB" if index % columns == 0 else "")
        ax.set_xlabel(x_label if index // columns == rows - 1 else "", labelpad=2)
    return fig, panels[: len(texts)]


def _draw(ax: Axes, recording: Recording, factor: float, top: float) -> None:
    times, stack = thinned(recording.times, _stack(recording))
    kinds = [UNKNOWN] if recording.anonymous is None else list(KINDS.values())
    below = np.zeros(len(times))
    for kind, series in zip(kinds, stack / MiB, strict=True):
        if series.any():
            ax.fill_between(
                times * factor, below, below + series, linewidth=0, label=kind.word, **paint(kind)
            )
            if series.max() >= min(0.01 * top, stack.max() / MiB):
                # The line keeps a spike thinner than a pixel visible.
                ax.plot(times * factor, below + series, color=kind.edge, linewidth=0.8)
        below = below + series
    if ended(recording) and len(times):
        ax.axvline(times[-1] * factor, color=WARNING, linewidth=1.3)


def _draw_rest(ax: Axes, recording: Recording, factor: float, longest: float) -> None:
    """A dot where the call ended, and what stayed: on the side that has room in this panel."""
    times, stack = thinned(recording.times, _stack(recording))
    rest = int(stack[:, -1].sum())
    end = (times[-1] * factor, rest / MiB)
    side = "right"
    shift = -4
    if times[-1] < longest / 2:
        side, shift = "left", 4
    ax.plot(*end, marker="o", markersize=4, color=QUIET, clip_on=False, zorder=5)
    ax.annotate(
        f"{in_words(rest, 'bytes')} stays",
        end,
        xytext=(shift, 4),
        textcoords="offset points",
        ha=side,
        va="bottom",
        zorder=5,
        bbox=BOX,
    )


def _labelled(recording: Recording, longest: float) -> list[Mark]:
    """The first marks whose names have room beside each other."""
    chosen: list[Mark] = []
    for mark in recording.marks:
        if not chosen or mark.time - chosen[-1].time > longest / MOST_MARKS:
            chosen.append(mark)
    return chosen


def _draw_marks(ax: Axes, recording: Recording, factor: float, longest: float) -> None:
    for mark in recording.marks[:POINTS]:
        ax.axvline(mark.time * factor, color=QUIET, linewidth=0.7, linestyle=":")
    for mark in _labelled(recording, longest):
        ax.annotate(
            textwrap.shorten(mark.name, 24, placeholder="…"),
            (mark.time * factor, 1),
            xytext=(2, -2),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            rotation=90,
            va="top",
            color=QUIET,
        )


def _draw_guess(ax: Axes, guess: float, end: float, top: float) -> None:
    """A bar beyond the end of the time, and a line that leads to it; if the guess is above the
    panel, an arrow.
    """
    inside = guess / MiB <= top
    corner = (1.02 * end, 0)
    tall = min(guess / MiB, top)
    ax.plot(
        (0, 1.02 * end), (tall, tall), **PREDICTED | {"color": KINDS["anonymous"].edge}, zorder=0.5
    )
    ax.add_patch(
        Rectangle(corner, 0.07 * end, tall, clip_on=False, zorder=4, **guessed(KINDS["anonymous"]))
    )
    ax.annotate(
        f"you: {in_words(guess, 'bytes')} anonymous{'' if inside else ' ↑'}",
        (0.985, tall),
        xycoords=("axes fraction", "data"),
        xytext=(0, 2.5 if inside else -3),
        textcoords="offset points",
        ha="right",
        va="bottom" if inside else "top",
        zorder=5,
        bbox=BOX,
    )
