"""Memory over time: one panel per method, all on the same scale."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import MaxNLocator

from ..measure.recording import Mark, Recording
from ..measure.run_report import at
from ..units import MiB, in_words
from .cells import Panel, y_axis
from .chart import Row, chart
from .figure import (
    KINDS,
    PREDICTED,
    QUIET,
    UNKNOWN,
    WARNING,
    Picture,
    guessed,
    key,
    look,
    paint,
)
from .text import FAINT, WARN
from .words import (
    Methods,
    Predicted,
    by_name,
    checked,
    ended,
    left_words,
    peaks,
    with_machine,
)

# around a text that stands on a curve
BACK = {"facecolor": "white", "alpha": 0.85, "linewidth": 0, "pad": 0.8}
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
    highest = max(MiB, *(int(stack(r).sum(axis=0).max(initial=0)) for r in methods.values()))
    # A guess far above everything measured must not flatten the curves.
    visible = [guess for guess in guesses.values() if guess <= 3 * highest]
    top = 1.15 * max([highest, *visible])
    words = []
    panels = []
    high = 105 if len(methods) > 1 else 150
    for name, recording in methods.items():
        took = f"in {in_words(recording.wall, 'seconds')}" if recording.wall is not None else ""
        guess = guesses.get(name)
        marked = [f"“{mark.name}” at {at(mark)}" for mark in _labelled(recording, longest)]
        parts = [took, *marked, left_words(recording) if stays else "", ended(recording)]
        if guess is not None:
            parts.append(f"you predicted {_size(guess)} anonymous")
        all_peaks = peaks(recording)
        words.append((name, [f"{_peaks(all_peaks)} at its peak", *parts]))
        seen = [peak for peak in all_peaks if peak[0] >= 0.05 * top] or [max(all_peaks)]
        notes = [(_peaks(seen), FAINT), (ended(recording), WARN)]
        how = {"longest": longest, "top": top, "guess": guess, "beside": bool(guesses)}
        panels.append(Panel(name, partial(_plot, recording, stays=stays, **how), notes, high))
    across = {1: 1, 2: 2, 4: 2}.get(len(panels), 3)
    lines = [panels[start : start + across] for start in range(0, len(panels), across)]
    split = [recording for recording in methods.values() if recording.anonymous is not None]
    shared = any(recording.peak.shared for recording in split)
    kinds = [kind for name, kind in KINDS.items() if split and (name != "shared" or shared)]
    kinds += [UNKNOWN] * (len(split) < len(methods))
    keys = [key(kind) for kind in kinds]
    if guesses:
        keys.append(Patch(label="anonymous, as you predicted", **guessed(KINDS["anonymous"])))
    rows = [Row("", line) for line in lines]
    caption = with_machine(caption, methods)
    opening = "Memory over time, one panel per method"
    return chart(opening, rows, caption, words, keys=keys, gap=10)


def _size(size: float) -> str:
    return in_words(size, "bytes")


def _peaks(of_kinds: Sequence[tuple[int, str]]) -> str:
    return ", ".join(f"{_size(size)} {word}" for size, word in of_kinds)


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


def stack(recording: Recording) -> np.ndarray:
    """(kinds, n) bytes, never below 0: the three kinds, or all resident memory if nothing told them
    apart.
    """
    if recording.anonymous is None:
        return np.maximum(recording.resident, 0)[None]
    empty = np.zeros_like(recording.anonymous)
    series = (getattr(recording, kind) for kind in KINDS)
    return np.stack([empty if samples is None else np.maximum(samples, 0) for samples in series])


def _labelled(recording: Recording, longest: float) -> list[Mark]:
    """The first marks whose names have room beside each other."""
    chosen: list[Mark] = []
    for mark in recording.marks:
        if not chosen or mark.time - chosen[-1].time > longest / MOST_MARKS:
            chosen.append(mark)
    return chosen


def _plot(
    recording: Recording,
    ax: Axes,
    *,
    longest: float,
    top: float,
    guess: float | None,
    beside: bool,
    stays: bool,
) -> None:
    """The kinds of memory, one on the other, below `top` bytes, over `longest` seconds; `beside`
    leaves space for a guess.
    """
    unit, factor = ("ms", 1000) if longest < 1 else ("s", 1)
    end = longest * factor or 1
    ax.set(xlabel=f"time, {unit}", xlim=(0, (1.11 if beside else 1) * end))
    y_axis(ax, "bytes", top, top)
    ax.xaxis.set_major_locator(MaxNLocator(4))
    times, parts = thinned(recording.times * factor, stack(recording))
    below = 0
    kinds = [UNKNOWN] if recording.anonymous is None else KINDS.values()
    for kind, series in zip(kinds, parts, strict=True):
        if series.any():
            how = {"linewidth": 0, "label": kind.word, **paint(kind)}
            ax.fill_between(times, below, below + series, **how)
            if series.max() >= min(0.01 * top, parts.max()):
                # The line keeps a spike thinner than a pixel visible.
                ax.plot(times, below + series, color=kind.edge, linewidth=0.8)
        below = below + series
    if ended(recording) and len(times):
        ax.axvline(times[-1], color=WARNING, linewidth=1.3)
    if stays and recording.left:
        # on the side that has room in this panel
        side, shift = ("left", 4) if times[-1] < end / 2 else ("right", -4)
        how = {"ha": side, "va": "bottom", "zorder": 5, "bbox": BACK}
        last = times[-1], below[-1]
        ax.plot(*last, marker="o", markersize=4, color=QUIET, clip_on=False, zorder=5)
        words = f"{_size(last[1])} stays"
        ax.annotate(words, last, (shift, 4), textcoords="offset points", **how)
    for mark in recording.marks[:POINTS]:
        ax.axvline(mark.time * factor, color=QUIET, linewidth=0.7, linestyle=":")
    for mark in _labelled(recording, longest):
        words = mark.name if len(mark.name) < 25 else f"…{mark.name[-23:]}"
        x = mark.time * factor + 0.01 * end
        ax.text(x, 0.98 * top, words, rotation=90, va="top", color=QUIET)
    if guess is not None:
        _draw_guess(ax, guess, end, top)


def _draw_guess(ax: Axes, guess: float, end: float, top: float) -> None:
    """A bar beyond the end of the time, and a line that leads to it; if the guess is above the
    panel, an arrow.
    """
    inside = guess <= top
    tall = min(guess, top)
    left = 1.02 * end
    ax.plot((0, left), (tall, tall), **PREDICTED | {"color": KINDS["anonymous"].edge}, zorder=0.5)
    how = {"clip_on": False, "zorder": 4, **guessed(KINDS["anonymous"])}
    ax.add_patch(Rectangle((left, 0), 0.07 * end, tall, **how))
    words = f"you: {_size(guess)} anonymous{'' if inside else ' ↑'}"
    place = {"ha": "right", "va": "bottom" if inside else "top", "zorder": 5, "bbox": BACK}
    ax.text(1.09 * end, tall + (0.02 if inside else -0.02) * top, words, **place)
