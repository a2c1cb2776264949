"""What is copied, from where to where, and how often: a diagram with the measured counters on its
arrows.
"""

from collections.abc import Collection, Mapping
from typing import Any, Literal

from matplotlib.lines import Line2D

from ..measure.recording import Recording
from ..units import NOT_MEASURED, in_words
from .boxes import LENT, Arrow, Box
from .chart import Row, chart
from .figure import ABSENT, ANONYMOUS, FILE, INK, Picture, key, look
from .text import PLAIN
from .words import Methods, by_name, count, ended, faults, with_machine

Move = Literal["read/write", "map", "in kernel"]
MOVES = {"read/write": "through user memory", "map": "mapped", "in kernel": "inside the kernel"}
# if nothing is written
READS = {"read/write": "copied into user memory", "map": "lent to user memory"}
HEADS = {
    "disk": "disk",
    "source": "page cache,\nthe file",
    "user": "user\nmemory",
    "copy": "page cache,\nthe copy",
    "to disk": "disk",
}

READ_HEADS = {"disk": "disk", "source": "page cache", "user": "user\nmemory"}
LAYOUT = {"between": 24, "labels": 132, "ruled": True}
SEEN = 0.02  # the least part of the file that gets an arrow


@look()
def copy_paths(
    comparison: Methods,
    moves: Mapping[Move, Collection[str]],
    caption: str = "",
    destination: Literal["file"] | None = "file",
    size: int | None = None,
) -> Picture:
    """One row per method: the places that bytes were in, and an arrow for every copy between two of
    them.

    `moves` names the methods that move bytes by "read/write" (into user memory and out again), by
    "map" (the page cache lends its own pages, so only the write copies), and "in kernel" (sendfile,
    copy_file_range). The bytes, the calls and the memory come from the recording (proc_pid_io(5));
    if the counters saw no bytes, there's no arrow. `size` is how many bytes to move, by default the
    most that any method wrote or held. No counter sees copies within user memory: they show only as
    memory.

    If a file is only read (`destination=None`), the way ends in user memory, and the moves are
    "read/write" (the bytes are copied there) and "map" (the pages are lent, at the cost of faults,
    minor and major together). ValueError for a move that there isn't, and for a method without one.
    """
    methods = by_name(comparison)
    reads = destination is None
    words, heads = (READS, READ_HEADS) if reads else (MOVES, HEADS)
    if unknown := moves.keys() - words:
        raise ValueError(
            f"no move is called {', '.join(map(repr, unknown))}; there are: {', '.join(words)}"
        )
    move_of = {name: move for move, names in moves.items() for name in names}
    if missing := methods.keys() - move_of:
        raise ValueError(f"`moves` must say how these move bytes: {', '.join(missing)}")
    if not size:  # the most bytes that a method moved or held
        moved = [run.io.read_bytes if reads else run.io.write_bytes for run in methods.values()]
        held = [peak for run in methods.values() for peak in (run.peak.anonymous, run.peak.file)]
        size = max(number or 0 for number in (*moved, *held))
    rows = []
    arrows = []
    for name, run in methods.items():
        move = move_of[name]
        io = run.io
        boxes = _boxes(run, move, size, heads)
        arrows += _arrows(run, move, size, boxes)
        # Bytes that never enter user memory count once, when they're written. A file system whose
        # files can share blocks (btrfs, XFS) may serve copy_file_range(2) without any copy, and no
        # counter shows that: so "at most".
        copied = None
        if size and None not in (io.read_bytes, io.write_bytes):
            crossed = io.read_bytes * (move == "read/write") + io.write_bytes * (not reads)
            copied = round(crossed / size, 1)
        notes = [_often("copied", copied, "at most " * (move == "in kernel"))]
        notes += [_often("waited", run.switches.voluntary)] * reads
        parts = [words[move], *notes, ended(run)]
        parts += [_moved("from the disk", io.device_read_bytes)] * reads
        parts += [_moved("read", io.read_bytes, io.read_calls)] * (move == "read/write")
        parts += [_moved("written", io.write_bytes, io.write_calls)] * (not reads)
        parts += [count(faults(run), "fault")] * (reads and move == "map")
        parts += [_moved("lent pages at the peak", run.peak.file)] * (move == "map")
        parts.append(_moved("anonymous memory at the peak", run.peak.anonymous))
        titles = () if rows else list(heads.values())
        rows.append(Row(name, list(boxes.values()), parts, notes, ended(run), titles))
    unknown = any(
        None in (r.io.read_bytes, r.io.write_bytes, r.io.device_read_bytes)
        for r in methods.values()
    )
    mark = Line2D([], [], linestyle="none", label=f"?  {NOT_MEASURED}")
    keys = [key(ANONYMOUS), key(FILE), *[mark] * unknown]
    opening = "What is copied between disk, page cache and user memory, one row per method"
    caption = with_machine(caption, methods)
    return chart(
        opening, rows, caption, keys=keys, arrows=arrows, gap=110 if reads else 68, **LAYOUT
    )


def _boxes(run: Recording, move: Move, size: int, places: Collection[str]) -> dict[str, Box]:
    """The places; user memory is filled to the part of the file that it held at its peak."""
    kind, peak = (FILE, run.peak.file) if move == "map" else (ANONYMOUS, run.peak.anonymous)
    boxes = {place: Box([], FILE, float(place in ("source", "copy"))) for place in places}
    share = min(1, (peak or 0) / (size or 1))
    return boxes | {"user": Box([(_bytes(peak), PLAIN)], kind, share, align="center")}


def _arrows(run: Recording, move: Move, size: int, boxes: Mapping[str, Box]) -> list[Arrow]:
    """The ways of the bytes: a grey one if nothing counted them, and none for next to no bytes."""

    def arrow(
        start: str, end: str, moved: int | None, above: str = "", below: str = "", **how: Any
    ) -> None:
        line = "-" if moved is None or moved >= SEEN * size > 0 else ""
        color = ABSENT.edge if moved is None else INK
        how = {"line": line, "color": color} | how
        arrows.append(Arrow(boxes[start], boxes[end], above, below, **how))

    io = run.io
    reads = "copy" not in boxes
    arrows = []
    arrow("disk", "source", io.device_read_bytes, _bytes(io.device_read_bytes))
    if move == "read/write":
        calls = _calls(io.read_calls)
        arrow("source", "user", io.read_bytes, _bytes(io.read_bytes), calls)
    elif move == "map":
        pages = count(faults(run), "fault") if reads and faults(run) is not None else ""
        arrow("source", "user", size, "lent", pages, **LENT, color=FILE.edge)
    if reads:
        return arrows
    written = _bytes(io.write_bytes), _calls(io.write_calls)
    if move == "read/write":
        arrow("user", "copy", io.write_bytes, *written)
    else:  # these bytes never enter user memory, so their arrow goes around it
        arrow("source", "copy", io.write_bytes, ", ".join(filter(None, written)), around=True)
    arrow("copy", "to disk", io.device_write_bytes)
    return arrows


def _calls(calls: int | None) -> str:
    return "" if calls is None else count(calls, "call")


def _bytes(number: int | None) -> str:
    return "?" if number is None else in_words(number, "bytes")


def _often(verb: str, times: float | None, limit: str = "") -> str:
    """`_often("copied", 2)` is "copied twice", `_often("copied", 1, "at most ")` is "copied at most
    once".
    """
    if times is None:
        return f"{verb}: {NOT_MEASURED}"
    if not times:
        return f"never {verb}"
    often = {1: "once", 2: "twice"}.get(times, f"{times:,} times")
    return f"{verb} {limit}{often}"


def _moved(verb: str, moved: int | None, calls: int | None = None) -> str:
    within = f" in {count(calls, 'call')}" if calls is not None else ""
    return f"{verb} {in_words(moved, 'bytes')}{within}"
