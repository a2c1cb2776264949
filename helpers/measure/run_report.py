"""What `%measure` and `python -m helpers.measure` tell of a run: the rows of a table, and sentences
to go with it.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from ..units import MiB, in_words
from .recording import METERS, Mark, Meter, Recording
from .tables import NONE

AT_THE_END = "“At the end” is what stayed when the call ended, with what it returned."
MOST_MARKS = 20
BELOW = {  # meters, by the one that they stand below
    "resident": Meter("code imported meanwhile", "bytes", "imported"),
    "heap": Meter("heap, at the end, in a run of its own", "bytes", "heap_left"),
    "read calls": Meter("bytes read, from the cache too", "bytes", "io.read_bytes"),
}


def rows(runs: Sequence[Recording]) -> list[tuple[str, ...]]:
    """A title and a cell per run: for every meter, for what stayed of each kind of memory, and for
    the marks.
    """
    made = []
    for key, meter in METERS.items():
        if key != "heap" or runs[0].heap_peak is not None:
            for each in filter(None, (meter, BELOW.get(key))):
                made.append((each.title, *(_cell(run, each.read(run), each.unit) for run in runs)))
        if key in ("anonymous", "file", "shared"):
            stayed = (_cell(run, run.left.get(key)) for run in runs)
            made.append((meter.title.replace("peak", "at the end"), *stayed))
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
    """The memory at a mark; if several have this name, at the highest, or of the call that took and
    read most.
    """
    calls = defaultdict(list)
    for mark in run.marks:
        calls[mark.call].append(mark)
    marks = [mark for mark in run.marks if mark.name == name]
    if not marks:
        return NONE
    most = max(marks, key=lambda mark: _took(calls[mark.call]))
    which = "the highest of {:,}"
    if most.call > 0:
        which = "of {:,} calls, the one that took and read most"
    return at(most) + f" ({which.format(len(marks))})" * (len(marks) > 1)


def _took(call: list[Mark]) -> tuple[int, ...]:
    """The memory that a call took, and what it read; the memory at its end; its number."""
    begin, end = (sum(filter(None, mark[2:6])) for mark in (call[0], call[-1]))
    return end - begin, call[-1].resident, call[-1].call


def at(mark: Mark) -> str:
    """ "34 MiB anonymous, 1 MiB file-backed after 0.12 s" """
    kinds = {
        "anonymous": mark.anonymous,
        "file-backed": mark.file,
        "shared": mark.shared,
        "read": mark.read_bytes,
    }
    words = [
        f"{in_words(size, 'bytes')} {kind}"
        for kind, size in kinds.items()
        if size or kind == "anonymous"
    ]
    return f"{', '.join(words)} after {in_words(mark.time, 'seconds')}"


def notes(run: Recording) -> Iterator[str]:
    """Sentences about what would mislead."""
    if run.missed:
        yield (
            "The peak was too short for the sampler: its highest sample is "
            f"{in_words(run.peak.resident - run.missed, 'bytes')} resident, and the kernel's "
            f"high-water mark is {in_words(run.peak.resident, 'bytes')}. The peaks of the single "
            "kinds, and the curves, miss the difference."
        )
    if run.marked > len(run.marks):
        yield (
            f"{len(run.marks):,} of {run.marked:,} marks were kept, the highest of each name among "
            "them."
        )
    if run.marks:
        yield (
            "A mark has the growth of the whole process since the run began, and what it had read, "
            "without other processes that it started. What one call took and read is the "
            "difference between its two marks."
        )
    if run.heap_left is not None:
        yield (
            "The heap is what Python's own allocators, and numpy's, were asked for, touched or not."
            " Anonymous memory is what was touched: by libraries in C too, and also what was freed "
            "and not given back."
        )
    if (run.imported or 0) >= MiB:
        size = in_words(run.imported, "bytes")
        names = ",".join(run.imports)
        before = f" With `--modules {names}` they are there before." if names else ""
        yield f"Of the growth, {size} came while modules were imported: code, mostly.{before}"
