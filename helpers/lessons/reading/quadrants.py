"""Two questions at once, such as sequential or random, cold or warm: four panels with one bar per
method.
"""

from collections.abc import Mapping

from ...show.cells import Bar
from ...show.chart import Row, chart
from ...show.figure import Picture, look, paint
from ...show.meters import OTHER
from ...show.words import Methods, count, ended, faults, with_machine
from ...units import NOT_MEASURED, in_words

FASTEST = OTHER._replace(face="#4a4460")


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
    shown: list[Row] = []
    for across in (pairs[:2], pairs[2:]):
        for name in methods:
            bars = [_bar(comparisons[pair], name) for pair in across]
            heads = [", ".join(pair) for pair in across] if name == methods[0] else ()
            shown.append(Row(name, bars, heads=heads))
    told = []
    recordings = {}
    for pair in pairs:
        for name, run in comparisons[pair].items():
            recordings[*pair, name] = run
            label = ", ".join((*pair, name))
            words = _words(comparisons[pair], name)
            told.append((label, words))
    opening = "Time as one bar per method, in four panels, each with its own scale"
    caption = f"{caption} Time; each panel has its own scale."
    return chart(opening, shown, with_machine(caption, recordings), words=told, labels=110)


def _bar(runs: Methods, name: str) -> Bar | None:
    if name not in runs:
        return None
    time, *costs, end = _words(runs, name)
    note = end or " · ".join(cost for cost in costs if NOT_MEASURED not in cost)
    first = name == _fastest(runs)
    parts = [(runs[name].wall or 0, paint(FASTEST if first else OTHER))]
    return Bar(parts, time.replace(", the", " ·"), note, warning=bool(end), strong=first)


def _words(runs: Methods, name: str) -> list[str]:
    """What a bar says: the time, the costs, and how the run ended."""
    run = runs[name]
    return [
        in_words(run.wall, "seconds") + ", the fastest" * (name == _fastest(runs)),
        f"from device {in_words(run.io.device_read_bytes, 'bytes')}",
        count(faults(run), "fault"),
        count(run.io.read_calls, "call"),
        ended(run),
    ]


def _fastest(runs: Methods) -> str | None:
    whole = [n for n, run in runs.items() if run.ended == "returned" and run.wall is not None]
    return min(whole, key=lambda name: runs[name].wall) if len(whole) > 1 else None
