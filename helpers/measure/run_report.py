"""What `%measure` and `python -m helpers.measure` tell of a run: the rows of a table, and sentences
to go with it.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from ..units import MiB, in_words
from .recording import METERS, Mark, Recording
from .tables import NONE

AT_THE_END = "“At the end” is what stayed when the call ended, with what it returned."
MOST_MARKS = 20


def rows(runs: Sequence[Recording]) -> list[tuple[str, ...]]:
    """A title and a cell per run: for every meter, for what stayed of each kind of memory, and for
    the marks.
    """
    made = []
    for key, meter in METERS.items():
        if key != "heap" or runs[0].heap_peak is not None:
            made.append((meter.title, *(_cell(run, meter.read(run), meter.unit) for run in runs)))
        if key in ("anonymous", "file", "shared") or (
            key == "heap" and runs[0].heap_peak is not None
        ):
            stayed = (
                _cell(run, run.heap_left if key == "heap" else run.left.get(key)) for run in runs
            )
            made.append((meter.title.replace("peak", "at the end"), *stayed))
        if key == "read calls":
            made.append(
                (
                    "bytes read, from the cache too",
                    *(_cell(run, run.io.read_bytes) for run in runs),
                )
            )
        if key == "resident":
            made.append(("code imported meanwhile", *(_cell(run, run.imported) for run in runs)))
    names = dict.fromkeys(mark.name for run in runs for mark in run.marks)
    made += [(f"“{name}”", *(_at(name, run) for run in runs)) for name in list(names)[:MOST_MARKS]]
    more = len(names) - MOST_MARKS
    return made + [(f"… and {more:,} more names", *([NONE] * len(runs)))] * (more > 0)


def _cell(run: Recording, seen: float | None, unit: str = "bytes") -> str:
    """A figure; of a process that didn't report, NONE for what only a report tells."""
    return (
        NONE if seen is None and run.ended not in ("returned", "raised") else in_words(seen, unit)
    )


def _at(name: str, run: Recording) -> str:
    """The memory at a mark; if several have this name, at the highest."""
    marks = sorted(
        (mark for mark in run.marks if mark.name == name), key=lambda mark: mark.resident
    )
    several = f" (the highest of {len(marks):,})" if len(marks) > 1 else ""
    return at(marks[-1]) + several if marks else NONE


def _beside(run: Recording, mark: Mark) -> bool:
    """Was the curve far above this mark, in the samples before it and after it?"""
    if run.anonymous is None or mark.anonymous is None:
        return False
    place = int(np.searchsorted(run.times, mark.time))
    return (
        min(run.anonymous[max(0, place - 1) : place + 1], default=0)
        > 1.25 * mark.anonymous + 8 * MiB
    )


def at(mark: Mark) -> str:
    """ "34 MiB anonymous, 1 MiB file-backed after 0.12 s" """
    kinds = {"anonymous": mark.anonymous, "file-backed": mark.file, "shared": mark.shared}
    words = [
        f"{in_words(size, 'bytes')} {kind}"
        for kind, size in kinds.items()
        if size or kind == "anonymous"
    ]
    return f"{', '.join(words)} after {in_words(mark.time, 'seconds')}"


def notes(run: Recording) -> Iterator[str]:
    """Sentences about what would mislead."""
    if run.missed:
        seen, mark = (
            in_words(size, "bytes") for size in (run.peak.resident - run.missed, run.peak.resident)
        )
        apart = f"its highest sample is {seen} resident, and the kernel's high-water mark is {mark}"
        missing = "The peaks of the single kinds, and the curves, miss the difference"
        yield f"The peak was too short for the sampler: {apart}. {missing}."
    if any(_beside(run, mark) for mark in run.marks):
        yield (
            "Marks have the memory of the process itself; the curve adds that of processes that it "
            "started."
        )
    if run.marked > len(run.marks):
        yield (
            f"{len(run.marks):,} of {run.marked:,} marks were kept, the highest of each name among "
            "them."
        )
    if run.marks:
        yield (
            "A mark has the growth of the whole process since the run began. What one call took is "
            "the difference between two marks."
        )
    if (run.imported or 0) >= MiB:
        size = in_words(run.imported, "bytes")
        names = ",".join(run.imports)
        before = f" With `--modules {names}` they are there before." if names else ""
        yield f"Of the growth, {size} came while modules were imported: code, mostly.{before}"
