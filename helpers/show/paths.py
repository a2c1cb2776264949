"""What is copied, from where to where, and how often: a diagram with the measured counters on its
arrows.
"""

import textwrap
from collections.abc import Collection, Mapping
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from ..measure.recording import Recording
from ..units import NOT_MEASURED, in_words
from .boxes import LINE, lent, pointed, sheet
from .figure import (
    ABSENT,
    ANONYMOUS,
    FILE,
    GRID,
    INK,
    QUIET,
    Picture,
    key,
    legend,
    look,
    paint,
    picture,
)
from .words import Methods, alt_text, by_name, count, ended, faults, with_machine

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

# The left and right edge of each place that bytes can be in, in the page's pixels.
PLACES = {
    "disk": (148, 186),
    "source": (238, 308),
    "user": (388, 472),
    "copy": (548, 618),
    "to disk": (640, 676),
}
READ_PLACES = {"disk": (178, 226), "source": (322, 422), "user": (548, 676)}
# the legend and the heads, a row, a box, an arrow's way around user memory
TOP, ROW, BOX, LANE = (72, 70, 30, 18)
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
    words, places = (READS, READ_PLACES) if reads else (MOVES, PLACES)
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
    titles, notes, rows = {}, {}, {}
    for name, run in methods.items():
        move = move_of[name]
        io = run.io
        # Bytes that never enter user memory count once, when they're written. A file system whose
        # files can share blocks (btrfs, XFS) may serve copy_file_range(2) without any copy, and no
        # counter shows that: so "at most".
        copied = None
        if size and None not in (io.read_bytes, io.write_bytes):
            crossed = io.read_bytes * (move == "read/write") + io.write_bytes * (not reads)
            copied = round(crossed / size, 1)
        times = [_often("copied", copied, "at most " * (move == "in kernel"))]
        times += [_often("waited", run.switches.voluntary)] * reads
        titles[name] = textwrap.wrap(name, 19)
        notes[name] = [line for words in (*times, ended(run)) for line in textwrap.wrap(words, 22)]
        parts = [words[move], *times, ended(run)]
        parts += [_moved("from the disk", io.device_read_bytes)] * reads
        parts += [_moved("read", io.read_bytes, io.read_calls)] * (move == "read/write")
        parts += [_moved("written", io.write_bytes, io.write_calls)] * (not reads)
        parts += [count(faults(run), "fault")] * (reads and move == "map")
        parts += [_moved("lent pages at the peak", run.peak.file)] * (move == "map")
        rows[name] = [*parts, _moved("anonymous memory at the peak", run.peak.anonymous)]
    tall = max(ROW, *(LINE * (len(titles[name]) + len(notes[name])) + 22 for name in methods))
    fig, ax = sheet(TOP + tall * len(methods))
    for place, edges in places.items():
        ax.text(sum(edges) / 2, TOP - 14, HEADS[place], ha="center", va="bottom", color=QUIET)
    for index, (name, run) in enumerate(methods.items()):
        top = TOP + tall * index
        under = TOP + tall * index + 2 + LINE * len(titles[name])
        ax.plot((4, 676), (top - 9, top - 9), color=GRID, linewidth=0.6)
        ax.text(4, top + 2, "\n".join(titles[name]), va="top", fontweight="bold", linespacing=1.25)
        ax.text(4, under, "\n".join(notes[name]), va="top", color=QUIET, linespacing=1.25)
        _Row(ax, top, size, places).draw(run, move_of[name])
    unknown = any(
        None in (r.io.read_bytes, r.io.write_bytes, r.io.device_read_bytes)
        for r in methods.values()
    )
    mark = Line2D([], [], linestyle="none", label=f"?  {NOT_MEASURED}")
    legend(fig, key(ANONYMOUS), key(FILE), *[mark] * unknown)
    opening = "What is copied between disk, page cache and user memory, one row per method"
    return picture(fig, alt_text(opening, rows), with_machine(caption, methods))


class _Row:
    """One method's places and arrows, drawn from `top` down."""

    def __init__(self, ax: Axes, top: float, size: int, places: Mapping[str, tuple[int, int]]):
        self.ax = ax
        self.top = top
        self.middle = top + BOX / 2
        self.size = size
        self.places = places

    def draw(self, run: Recording, move: Move) -> None:
        """The boxes, then the arrows; user memory is filled to the part of the file that it held at
        its peak.
        """
        io = run.io
        reads = "copy" not in self.places
        kind, peak = (FILE, run.peak.file) if move == "map" else (ANONYMOUS, run.peak.anonymous)
        boxes = [
            (place, FILE if place in ("source", "copy") else ABSENT, 1) for place in self.places
        ]
        for place, look_of, share in (
            *boxes,
            ("user", kind, min(1, (peak or 0) / (self.size or 1))),
        ):
            left, right = self.places[place]
            self.ax.add_patch(
                Rectangle(
                    (left, self.top), share * (right - left), BOX, linewidth=0, **paint(look_of)
                )
            )
        self._text("user", _bytes(peak), self.middle, {"boxstyle": "round,pad=0.15", "alpha": 0.9})
        self._arrow("disk", "source", io.device_read_bytes)
        if move == "read/write":
            self._arrow("source", "user", io.read_bytes, io.read_calls)
        elif move == "map":
            words = (
                f"lent, {count(faults(run), 'fault')}"
                if reads and faults(run) is not None
                else "lent"
            )
            lent(
                self.ax,
                self.places["source"][1],
                self.places["user"][0],
                self.middle,
                words,
                FILE.edge,
            )
        if reads:
            return
        if move == "read/write":
            self._arrow("user", "copy", io.write_bytes, io.write_calls)
        else:  # these bytes never enter user memory, so their arrow goes around it
            start, end = (sum(self.places[place]) / 2 for place in ("source", "copy"))
            bottom = self.top + BOX
            lane = self.top + BOX + LANE
            self._along(
                [(start, bottom), (start, lane), (end, lane), (end, bottom)], io.write_bytes
            )
            words = [_bytes(io.write_bytes)] + [count(io.write_calls, "call")] * (
                io.write_calls is not None
            )
            self._text("user", ", ".join(words), lane, {"pad": 2})
        self._arrow("copy", "to disk", io.device_write_bytes, words=False)

    def _text(self, place: str, words: str, y: float, box: dict[str, object]) -> None:
        box = {"facecolor": "white", "linewidth": 0, **box}
        self.ax.text(sum(self.places[place]) / 2, y, words, ha="center", va="center", bbox=box)

    def _arrow(
        self, start: str, end: str, moved: int | None, calls: int | None = None, words: bool = True
    ) -> None:
        x = self.places[start][1], self.places[end][0]
        self._along([(x[0], self.middle), (x[1], self.middle)], moved)
        if words:
            self.ax.text(sum(x) / 2, self.middle - 4, _bytes(moved), ha="center", va="bottom")
        if calls is not None:
            self.ax.text(
                sum(x) / 2,
                self.middle + 5,
                count(calls, "call"),
                ha="center",
                va="top",
                color=QUIET,
            )

    def _along(self, corners: list[tuple[float, float]], moved: int | None) -> None:
        """An arrow; none if next to no bytes moved, a grey one if nothing counted them."""
        if moved is None or moved >= SEEN * self.size > 0:
            pointed(self.ax, corners, ABSENT.edge if moved is None else INK)


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
