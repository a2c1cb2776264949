"""How a class did: one bar per exercise, split by the students' outcomes."""

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from ..show.boxes import LINE, WIDE, sheet
from ..show.figure import INK, QUIET, Kind, Picture, legend, look, paint, picture
from ..show.fitting import width, wrapped

# From dark to light, to tell them apart in grey too; the hatches aren't those of memory.
OUTCOMES = tuple(
    Kind(word, *how)
    for word, *how in (
        ("right", "#2c6e49", "#2c6e49", None),
        ("half right", "#9cc3a5", "#2c6e49", "||"),
        ("not yet", "#e3c567", "#8a6a00", "\\\\\\\\"),
        ("not attempted", "#dedede", "#8a8a8a", "oo"),
        ("not graded", "#ffffff", "#565656", "xxx"),
        ("missing", "#ffffff", "#565656", None),
    )
)
KEYS, THICK, GAP, LABEL = 32, 20, 14, 200  # the page's pixels: the legend, a bar, between bars, the widest label


def outcomes(rows: Mapping[str, Mapping[str, int]], caption: str = "") -> Picture:
    """One bar per row: how many students have each outcome of OUTCOMES. ValueError if there's nothing to show, or for
    an unknown outcome."""
    if not any(sum(counts.values()) for counts in rows.values()):
        raise ValueError("nothing to show: pass at least one row with a count above 0")
    words = [kind.word for kind in OUTCOMES]
    for name, counts in rows.items():
        if unknown := [word for word in counts if word not in words]:
            raise ValueError(f"{name!r} counts {unknown[0]!r}; the outcomes are: {', '.join(words)}")
    with look():
        return picture(_drawn(rows), _alt(rows), caption)


def _drawn(rows: Mapping[str, Mapping[str, int]]) -> Figure:
    labels = {name: wrapped(name, LABEL) for name in rows}
    said = {name: f"{counts.get('right', 0)} of {sum(counts.values())}" for name, counts in rows.items()}
    left = 14 + max(width(line) for lines in labels.values() for line in lines)
    across = WIDE - left - 14 - max(map(width, said.values()))
    most = max(sum(counts.values()) for counts in rows.values())
    talls = {name: max(THICK, LINE * len(lines)) + GAP for name, lines in labels.items()}
    fig, ax = sheet(KEYS + sum(talls.values()))
    top = KEYS
    for name, counts in rows.items():
        middle = top + (talls[name] - GAP) / 2
        ax.text(left - 8, middle, "\n".join(labels[name]), ha="right", va="center", linespacing=1.25)
        end = _bar(ax, counts, left, middle, across / most)
        ax.text(end + 8, middle, said[name], va="center", color=QUIET)
        top += talls[name]
    there = [kind for kind in OUTCOMES if any(counts.get(kind.word) for counts in rows.values())]
    legend(fig, *(Patch(label=kind.word, linewidth=0.8, **paint(kind)) for kind in there))
    return fig


def _bar(ax: Axes, counts: Mapping[str, int], left: float, middle: float, each: float) -> float:
    """Draws a bar, `each` pixels per student, with a count wherever it fits. Returns where the bar ends."""
    for kind in OUTCOMES:
        count = counts.get(kind.word, 0)
        wide = count * each
        if not count:
            continue
        ax.add_patch(Rectangle((left, middle - THICK / 2), wide, THICK, linewidth=0.8, **paint(kind)))
        if width(str(count)) + 8 <= wide:
            plain = {"color": "white"} if kind.word == "right" else {"color": INK}
            box = {"facecolor": kind.face, "edgecolor": "none", "pad": 1.5}
            ax.text(left + wide / 2, middle, str(count), ha="center", va="center", bbox=box, **plain)
        left += wide
    return left


def _alt(rows: Mapping[str, Mapping[str, int]]) -> str:
    told = []
    for name, counts in rows.items():
        parts = [f"{counts[kind.word]} {kind.word}" for kind in OUTCOMES if counts.get(kind.word)]
        told.append(f"{name}: {', '.join(parts) or 'nobody'}")
    return f"One bar per row, students by outcome. {'. '.join(told)}."
