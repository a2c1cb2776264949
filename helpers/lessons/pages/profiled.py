"""Memory over time by its kinds, and the samples of a profiler that adds the kinds up."""

from collections.abc import Sequence

from ...measure.recording import Recording
from ...show.curves import curves
from ...show.figure import INK, Picture, legend, look, picture
from ...units import MiB, in_words


def curves_and_samples(run: Recording, samples: Sequence[tuple[float, int]], who: str, caption: str = "") -> Picture:
    """`curves(run)`, with dots for the samples that another profiler, `who`, took of another run of the same function:
    seconds since the call, and bytes of growth."""
    drawn = curves(run, caption=caption)
    seconds, grown = zip(*samples, strict=True)
    factor = 1000 if drawn.figure.axes[0].get_xlabel() == "time, ms" else 1
    with look():
        fig, (ax,) = drawn.figure, drawn.figure.axes
        (dots,) = ax.plot(
            [factor * at for at in seconds], [size / MiB for size in grown],
            "o", color=INK, markerfacecolor="white", markersize=3.2, markeredgewidth=0.8, clip_on=False, label=who,
        )  # fmt: skip
        ax.set_xlim(0, max(ax.get_xlim()[1], factor * max(seconds)))
        kinds = fig.legends.pop()
        legend(fig, *kinds.legend_handles, dots)
    most, summed = in_words(max(grown), "bytes"), in_words(run.peak.resident, "bytes")
    alt = f"{drawn.alt} Dots, {who}: {len(samples)} samples, {most} at their peak; all kinds add up to {summed}."
    return picture(fig, alt, drawn.caption)
