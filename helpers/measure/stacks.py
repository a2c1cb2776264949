"""Which Python stacks allocated what was there at a run's peak, and at its end: from the files that
`inside.Stacks` wrote, in words.
"""

import linecache
import logging
import marshal
import os
import sys
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..units import MiB, in_words

HERE = os.path.dirname(__file__)
# the measured program
BELOW = tuple(os.path.join(HERE, name) for name in ("child.py", "inside.py", "__main__.py"))
MOST = 3
LEAST = 1 / 5  # stacks of a moment, and the share that the second and third must have
MOMENTS = ("at the peak", "at the end")
FALLBACK = (
    "tracemalloc sees what Python and numpy allocate, and may miss a short peak. memray would see "
    "all: {}."
)
NO_LINE = "  by no Python line: a library's own thread, or code that has changed sys.setprofile"
SMALLER = "  In smaller stacks: {}. Shown are the largest, and of the next two those with a fifth."
LEFT = (
    "  At the end, {} was left. What is resident beyond that, an allocator keeps after it was "
    "freed, or it came with imported code."
)
MAPPED, RESIZED, ARENAS = ", mapped", ", resized there", ", for small objects"
NOTES = {
    MAPPED: (
        "Mapped, touched or not: a file, which is lent, or memory for a library's own allocator."
    ),
    RESIZED: (
        "Resized there: it counts for the line that resized it last. Another line may have "
        "filled it."
    ),
    ARENAS: (
        "For small objects, Python takes a MiB at a time: other lines' objects may be in those of "
        "this line."
    ),
}

FEW = 4  # of more blocks, memray's kind is that of the last only

Line = tuple[str, int, str]  # file, line, function
# from the outermost line to the innermost; a key of NOTES, or ""
Stack = tuple[tuple[Line, ...], str]


def told(folder: Path, ends: Mapping[bool, str]) -> str:
    """Of the stacks that had most at the peak or at the end: their size then, and their lines as in
    a traceback. `ends`: how the run without small objects ended, and the one with them, if there
    was one.
    """
    sizes: dict[str, Counter[Stack]] = {moment: Counter() for moment in MOMENTS}
    by_object = ends.get(True) in ("returned", "raised")
    tool = "memray"
    pieces = of_memray(folder, by_object)
    notes = []
    if (instead := folder / "tracemalloc").exists():
        taken = marshal.loads(instead.read_bytes())
        tool = "tracemalloc"
        pieces = of_tracemalloc(taken)
        notes = [FALLBACK.format(taken["why"])]
    for moment, size, lines, how in pieces:
        own = tuple(
            line for line in lines if line[0] not in BELOW and not line[0].startswith("<frozen ")
        )
        if not any(file.startswith(HERE) for file, _, _ in own):  # not `where` and the like
            sizes[moment][own, how] += size
    linecache.checkcache()
    said = [
        "What was asked for and not freed, touched or not (only what is touched is resident), by "
        f"Python stack, in a run of its own with {tool}:"
    ]
    least = LEAST * max(counted.total() for counted in sizes.values())
    counts = {moment: counted for moment, counted in sizes.items() if counted.total() > least}
    chosen = dict.fromkeys(stack for counted in counts.values() for stack in largest(counted))
    for lines, how in chosen:
        parts = ", ".join(
            f"{share(counted, (lines, how))} {moment}" for moment, counted in counts.items()
        )
        frames = "".join(traceback.format_list(map(frame, lines))).rstrip() or NO_LINE
        said.append(f"  {parts}{how}:\n{frames}")
    rest = ", ".join(
        f"{in_words(sum(counted[one] for one in counted.keys() - chosen), 'bytes')} {moment}"
        for moment, counted in counts.items()
    )
    said.append(SMALLER.format(rest) if chosen else "  nothing was seen")
    if chosen and sizes["at the end"] and "at the end" not in counts:
        said.append(LEFT.format(in_words(sizes["at the end"].total(), "bytes")))
    said += [NOTES[how] for how in dict.fromkeys(how for _, how in chosen if how)]
    if ends[by_object] != "returned":
        said.append(f"That run's end: {ends[by_object]}.")
    return "\n".join(said + notes)


def frame(line: Line) -> traceback.FrameSummary:
    """As in a traceback, with the file's name as one imports it: "numpy/_core/memmap.py"."""
    file, number, name = line
    folders = [
        folder for folder in filter(None, sys.path) if file.startswith(os.path.join(folder, ""))
    ]
    short = os.path.relpath(file, max(folders, key=len)) if folders else file
    return traceback.FrameSummary(short, number, name, line=linecache.getline(file, number))


def share(sizes: "Counter[Stack]", stack: Stack) -> str:
    return f"{in_words(sizes[stack], 'bytes')} of {in_words(sizes.total(), 'bytes')}"


def largest(sizes: "Counter[Stack]") -> list[Stack]:
    """The largest, and of the next two those that have a fifth."""
    return [
        stack
        for n, (stack, size) in enumerate(sizes.most_common(MOST))
        if not n or size > sizes.total() * LEAST
    ]


def of_memray(folder: Path, by_object: bool) -> Iterator[tuple]:
    """(moment, bytes, lines, a key of NOTES) of each stack. memray adds up what has one stack, and
    gives it the kind of any of its blocks: so what was mapped is known from the run that left out
    the small ones.
    """
    parts = list(_read(folder / "memray"))
    if not by_object:
        yield from parts
        return
    mapped = {lines for _, _, lines, how in parts if how == MAPPED}
    for moment, size, lines, how in _read(folder / "objects"):
        yield moment, size, lines, MAPPED if lines in mapped else how if how == RESIZED else ""


def _read(path: Path) -> Iterator[tuple]:
    try:
        import memray

        # the end of the file is missing if the process was killed
        memray.set_log_level(logging.CRITICAL)
        reader = memray.FileReader(path)
        records = (
            reader.get_high_watermark_allocation_records,
            reader.get_leaked_allocation_records,
        )
        for moment, found in zip(MOMENTS, records, strict=True):
            for record in found():
                lines = tuple(
                    (file, line, name) for name, file, line in reversed(record.stack_trace())
                )
                yield moment, record.size, lines, _how(record, memray.AllocatorType)
    except (ImportError, OSError):  # the process ended before it had written the beginning
        return


def _how(record: Any, kinds: Any) -> str:
    if record.size == record.n_allocations * MiB:
        return ARENAS
    if record.allocator == kinds.MMAP:
        return MAPPED
    is_resized = record.allocator in (kinds.REALLOC, kinds.PYMALLOC_REALLOC)
    return RESIZED if is_resized and record.n_allocations < FEW else ""


def of_tracemalloc(taken: dict) -> Iterator[tuple]:
    """The same."""
    for moment in MOMENTS:
        for _, size, lines, *_ in taken.get(moment, ()):
            yield moment, size, tuple((file, line, "?") for file, line in reversed(lines)), ""
