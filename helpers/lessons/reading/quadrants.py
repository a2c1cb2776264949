"""Two questions at once, such as sequential or random, cold or warm: four panels with one bar per
method.
"""

import textwrap
from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ...show.boxes import width
from ...show.figure import INK, PAGE, QUIET, WARNING, Picture, look, picture
from ...show.meters import OTHER
from ...show.words import Methods, alt_text, count, ended, faults, with_machine
from ...units import NOT_MEASURED, digits, in_words

FASTEST = OTHER._replace(face="#4a4460")
# the page's pixels: above a panel, a bar with its text, below, between two
TITLE, EACH, AXIS, GAP = (30, 38, 30, 32)


@look()
def quadrants(comparisons: Mapping[tuple[str, str], Methods], caption: str = "") -> Picture:
    """Time as one bar per method, in two rows and two columns of panels, each with its own scale,
    from 0, and its fastest method marked. The keys are pairs of row and column, such as
    ("sequential", "cold"), rows first. Small print below a bar says how much came from the device,
    how many faults (minor and major), and how many read calls. ValueError unless there are two rows
    and two columns, with something to show in each.
    """
    rows, columns = (list(dict.fromkeys(pair[i] for pair in comparisons)) for i in (0, 1))
    pairs = [(row, column) for row in rows for column in columns]
    missing = [pair for pair in pairs if not comparisons.get(pair)]
    if (len(rows), len(columns)) != (2, 2) or missing:
        nothing = f", with nothing for {missing[0]}" if missing else ""
        raise ValueError(
            f"quadrants takes comparisons in 2 rows and 2 columns, not in {rows} and "
            f"{columns}{nothing}"
        )
    methods = list(dict.fromkeys(name for runs in comparisons.values() for name in runs))
    labels = [textwrap.fill(name, 16) for name in methods]
    left = 18 + max(width(line) for label in labels for line in label.splitlines())
    tall = EACH * len(methods)
    across = (680 - left - GAP - 22) / 2
    height = 2 * (TITLE + tall + AXIS) + 4
    fig = Figure(figsize=(PAGE, height / 96))
    panels = fig.subplots(2, 2).flat
    fig.subplots_adjust(
        left / 680,
        (AXIS + 4) / height,
        1 - 22 / 680,
        1 - TITLE / height,
        GAP / across,
        (TITLE + AXIS) / tall,
    )
    texts, recordings = {}, {}
    for index, (ax, pair) in enumerate(zip(panels, pairs, strict=True)):
        runs = comparisons[pair]
        title = ", ".join(pair)
        ax.set_title(title, pad=5)
        ax.set_ylim(len(methods) - 0.5, -0.5)
        ax.set_yticks(range(len(methods)), [""] * len(methods) if index % 2 else labels)
        ax.tick_params(axis="y", labelcolor=INK, labelsize=8.5)
        if index // 2:
            ax.set_xlabel("time, s; each panel has its own scale", labelpad=2)
        for name, parts in _draw(ax, runs, methods).items():
            recordings[f"{title}, {name}"] = runs[name]
            texts[f"{title}, {name}"] = parts
    opening = "Time as one bar per method, in four panels, each with its own scale"
    return picture(fig, alt_text(opening, texts), with_machine(caption, recordings))


def _draw(ax: Axes, runs: Methods, names: list[str]) -> dict[str, list[str]]:
    """Draws a panel. Returns what each of its bars says, for the alternative text."""
    times = {
        name: run.wall
        for name, run in runs.items()
        if run.ended == "returned" and run.wall is not None
    }
    fastest = min(times, key=times.__getitem__) if len(times) > 1 else None
    # with space for text after a bar
    ax.set_xlim(0, 1.6 * (max(run.wall or 0 for run in runs.values()) or 1))
    ax.xaxis.set_major_locator(MaxNLocator(4))
    ax.xaxis.set_major_formatter(lambda value, _: digits(value))
    ax.grid(False, axis="y")
    back = {"facecolor": "white", "linewidth": 0, "pad": 0.6}  # hides the grid behind text
    how = {"va": "center_baseline", "textcoords": "offset points", "bbox": back}
    texts = {}
    for y, name in enumerate(names):
        if (run := runs.get(name)) is None:
            continue
        first = name == fastest
        wall = run.wall or 0
        time = in_words(run.wall, "seconds")
        ax.barh(y - 0.17, wall, 0.4, linewidth=0, facecolor=(FASTEST if first else OTHER).face)
        place = (wall, y - 0.17)
        weight = "bold" if first else "normal"
        ax.annotate(time + " · fastest" * first, place, xytext=(4, 0), fontweight=weight, **how)
        costs = [
            f"from device {in_words(run.io.device_read_bytes, 'bytes')}",
            count(faults(run), "fault"),
        ]
        costs.append(count(run.io.read_calls, "call"))
        note = ended(run) or " · ".join(cost for cost in costs if NOT_MEASURED not in cost)
        place = {
            "xycoords": ("axes fraction", "data"),
            "fontsize": 7.5,
            "color": WARNING if ended(run) else QUIET,
        }
        ax.annotate(note, (0, y + 0.27), xytext=(3, 0), **place, **how)
        texts[name] = [time + ", the fastest" * first, *costs, ended(run)]
    return texts
