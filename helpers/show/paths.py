"""What is copied, from where to where, and how often: a diagram with the measured counters on its arrows."""

import textwrap
from collections.abc import Collection, Mapping
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from ..measure.recording import Comparison, Recording
from ..units import NOT_MEASURED, in_words
from .boxes import LINE, pointed, sheet
from .figure import ABSENT, ANONYMOUS, FILE, GRID, INK, QUIET, Kind, Picture, key, legend, look, paint, picture
from .words import by_name, ended, with_machine

Move = Literal["read/write", "map", "in kernel"]
MOVES = {"read/write": "through user memory", "map": "mapped", "in kernel": "inside the kernel"}
READS = {"read/write": "copied into user memory", "map": "lent to user memory"}  # if nothing is written

# The left and right edge of each place that bytes can be in, in the page's pixels.
PLACES = {"disk": (148, 186), "source": (238, 308), "user": (388, 472), "copy": (548, 618), "to disk": (640, 676)}
READ_PLACES = {"disk": (178, 226), "source": (322, 422), "user": (548, 676)}
KEYS, HEADS, ROW, BOX, LANE = 30, 42, 70, 30, 18


def copy_paths(
    comparison: Comparison | Mapping[str, Recording],
    moves: Mapping[Move, Collection[str]],
    caption: str = "",
    destination: Literal["file", "socket"] | None = "file",
    size: int | None = None,
) -> Picture:
    """One row per method: the places that bytes were in, and an arrow for every copy between two of them.

    `moves` names the methods that move bytes by "read/write" (into user memory and out again), by "map" (the page cache
    lends its own pages, so only the write copies), and "in kernel" (sendfile, copy_file_range). The bytes, the calls
    and the memory come from the recording (proc_pid_io(5)); if the counters saw no bytes, there's no arrow. `size` is
    how many bytes to move, by default the most that any method wrote or held. No counter sees copies within user
    memory: they show only as memory. None sees send(2) either: to see a socket here, write() to its descriptor.

    If a file is only read (`destination=None`), the way ends in user memory, and the moves are "read/write" (the bytes
    are copied there) and "map" (the pages are lent, at the cost of faults, minor and major together).
    ValueError for a move that there isn't, and for a method without one.
    """
    methods, known = by_name(comparison), MOVES if destination else READS
    if strange := moves.keys() - known:
        raise ValueError(f"no move is called {', '.join(map(repr, strange))}; there are: {', '.join(known)}")
    how = {name: move for move, names in moves.items() for name in names}
    if missing := methods.keys() - how:
        raise ValueError(f"`moves` must say how these move bytes: {', '.join(missing)}")
    size = size or max(_most(recording, destination is None) for recording in methods.values())
    words = {name: _words(name, recording, how[name], size, destination) for name, recording in methods.items()}
    tall = max(ROW, *(LINE * (len(title) + len(note)) + 22 for title, note in words.values()))
    height = KEYS + HEADS + tall * len(methods)
    with look():
        fig, ax = sheet(height)
        heads = {"disk": "disk", "source": "page cache,\nthe file", "user": "user\nmemory"}
        if destination == "file":
            heads |= {"copy": "page cache,\nthe copy", "to disk": "disk"}
        elif destination == "socket":
            heads["copy"] = "socket"
        places = PLACES if destination else READ_PLACES
        for place, head in heads.items():
            ax.text(sum(places[place]) / 2, KEYS + HEADS - 14, head, ha="center", va="bottom", color=QUIET)
        for row, (name, recording) in enumerate(methods.items()):
            drawn = _Row(ax, KEYS + HEADS + tall * row, size, destination)
            drawn.write(*words[name])
            drawn.draw(recording, how[name])
        unknown = any(None in (r.io.read_bytes, r.io.write_bytes, r.io.device_read_bytes) for r in methods.values())
        mark = Line2D([], [], linestyle="none", label=f"?  {NOT_MEASURED}")
        legend(fig, key(ANONYMOUS), key(FILE), *[mark] * unknown)
        return picture(fig, _alt(methods, how, size, destination), with_machine(caption, methods))


def faults(recording: Recording) -> int | None:
    """Minor and major faults together: each lent a page, and perhaps the pages around it."""
    minor, major = recording.faults.minor, recording.faults.major
    return None if minor is None or major is None else minor + major


def copies(recording: Recording, move: Move, size: int, written: bool = True) -> float | None:
    """How often the `size` bytes were copied between two places: (into user memory + out of it) / size.

    Without `written`, only copies into user memory count. None if the counters weren't measured. Bytes that never enter
    user memory count once, when they're written. A file system whose files can share blocks (btrfs, XFS) may serve
    copy_file_range(2) without any copy, and no counter shows that.
    """
    into, out = recording.io.read_bytes, recording.io.write_bytes
    if into is None or out is None or not size:
        return None
    return round((out * written + into * (move == "read/write")) / size, 1)


def _most(recording: Recording, read: bool) -> int:
    """The most bytes that a method moved or held."""
    io, peak = recording.io, recording.peak
    return max((io.read_bytes if read else io.write_bytes) or 0, peak.anonymous or 0, peak.file or 0)


class _Row:
    """One method's row, drawn from `y` down."""

    def __init__(self, ax: Axes, y: float, size: int, destination: str | None):
        self.ax, self.top, self.middle, self.size, self.destination = ax, y, y + BOX / 2, size, destination
        self.places = PLACES if destination else READ_PLACES

    def write(self, title: list[str], note: list[str]) -> None:
        self.ax.plot((4, 676), (self.top - 9, self.top - 9), color=GRID, linewidth=0.6)
        self.ax.text(4, self.top + 2, "\n".join(title), va="top", fontweight="bold", linespacing=1.25)
        under = self.top + 2 + LINE * len(title)
        self.ax.text(4, under, "\n".join(note), va="top", color=QUIET, linespacing=1.25)

    def draw(self, recording: Recording, move: Move) -> None:
        io = recording.io
        self._box("disk", ABSENT)
        self._box("source", FILE)
        if self.destination:
            self._box("copy", FILE if self.destination == "file" else ABSENT)
        self._user(recording, move)
        self._arrow("disk", "source", io.device_read_bytes)
        if move == "read/write":
            self._arrow("source", "user", io.read_bytes, io.read_calls)
        if move == "read/write" and self.destination:
            self._arrow("user", "copy", io.write_bytes, io.write_calls)
        elif self.destination:
            self._lane(io.write_bytes, io.write_calls)
        if move == "map":
            x = self.places["source"][1], self.places["user"][0]
            self.ax.plot(x, (self.middle, self.middle), color=FILE.edge, linewidth=1.3, linestyle=(0, (1.5, 1.5)))
            words = "lent" if self.destination else _lent(recording)
            self.ax.text(sum(x) / 2, self.middle - 4, words, ha="center", va="bottom", color=FILE.edge)
        if self.destination == "file":
            self._box("to disk", ABSENT)
            self._arrow("copy", "to disk", io.device_write_bytes, words=False)

    def _box(self, place: str, kind: Kind, share: float = 1) -> None:
        left, right = self.places[place]
        self.ax.add_patch(Rectangle((left, self.top), share * (right - left), BOX, linewidth=0, **paint(kind)))

    def _user(self, recording: Recording, move: Move) -> None:
        """User memory, filled to the part of the file that it held at its peak: in its own pages, or in lent pages."""
        kind, peak = (FILE, recording.peak.file) if move == "map" else (ANONYMOUS, recording.peak.anonymous)
        self._box("user", ABSENT)
        self._box("user", kind, min(1, (peak or 0) / self.size) if self.size else 0)
        words = "?" if peak is None else in_words(peak, "bytes")
        self.ax.text(
            sum(self.places["user"]) / 2, self.middle, words, ha="center", va="center",
            bbox={"facecolor": "white", "linewidth": 0, "boxstyle": "round,pad=0.15", "alpha": 0.9},
        )  # fmt: skip

    def _arrow(self, start: str, end: str, moved: int | None, calls: int | None = None, words: bool = True) -> None:
        """An arrow to the next place; none if no bytes moved, and a question mark if nothing counted them."""
        x = self.places[start][1], self.places[end][0]
        if moved is None or moved >= 0.02 * self.size > 0:
            pointed(self.ax, [(x[0], self.middle), (x[1], self.middle)], _color(moved))
        if words:
            said = "?" if moved is None else in_words(moved, "bytes")
            self.ax.text(sum(x) / 2, self.middle - 4, said, ha="center", va="bottom")
            if calls is not None:
                self.ax.text(sum(x) / 2, self.middle + 5, _calls(calls), ha="center", va="top", color=QUIET)

    def _lane(self, moved: int | None, calls: int | None) -> None:
        """An arrow from page cache to copy, below user memory, because these bytes never enter it."""
        start, end = (sum(PLACES[place]) / 2 for place in ("source", "copy"))
        bottom = self.top + BOX
        if moved is None or moved >= 0.02 * self.size > 0:
            corners = [(start, bottom), (start, bottom + LANE), (end, bottom + LANE), (end, bottom)]
            pointed(self.ax, corners, _color(moved))
        said = "?" if moved is None else in_words(moved, "bytes")
        self.ax.text(
            sum(PLACES["user"]) / 2, bottom + LANE, f"{said}, {_calls(calls)}" if calls is not None else said,
            ha="center", va="center", bbox={"facecolor": "white", "linewidth": 0, "pad": 2},
        )  # fmt: skip


def _color(moved: int | None) -> str:
    return ABSENT.edge if moved is None else INK


def _words(
    name: str, recording: Recording, move: Move, size: int, destination: str | None
) -> tuple[list[str], list[str]]:
    """The text at the left of a row: the method, how often it copied, and for reads, how often it waited."""
    told = [_times(copies(recording, move, size, destination is not None))]
    told += [_waits(recording.switches.voluntary)] * (destination is None)
    notes = [line for words in (*told, ended(recording)) for line in textwrap.wrap(words, 22)]
    return textwrap.wrap(name, 19), notes


def _lent(recording: Recording) -> str:
    count = faults(recording)
    return f"lent, {'? fault' if count is None else f'{count:,} fault'}{'' if count == 1 else 's'}"


def _waits(count: int | None) -> str:
    if count is None:
        return f"waits {NOT_MEASURED}"
    return {0: "never waited", 1: "waited once", 2: "waited twice"}.get(count, f"waited {count:,} times")


def _times(copied: float | None) -> str:
    """`_times(2)` is "copied twice"."""
    if copied is None:
        return NOT_MEASURED
    return {0: "never copied", 1: "copied once", 2: "copied twice"}.get(copied, f"copied {copied:g} times")


def _calls(calls: int) -> str:
    return f"{calls:,} call{'' if calls == 1 else 's'}"


def _moved(verb: str, moved: int | None, calls: int | None) -> str:
    within = f" in {_calls(calls)}" if calls is not None else ""
    return f"{verb} {in_words(moved, 'bytes')}{within}"


def _alt(methods: Mapping[str, Recording], how: Mapping[str, Move], size: int, destination: str | None) -> str:
    told = []
    for name, recording in methods.items():
        io, peak, move, reads = recording.io, recording.peak, how[name], destination is None
        parts = [(READS if reads else MOVES)[move], _times(copies(recording, move, size, not reads)), ended(recording)]
        parts += [_moved("from the disk", io.device_read_bytes, None)] * reads
        parts += [_moved("read", io.read_bytes, io.read_calls)] * (move == "read/write")
        parts += [_moved("written", io.write_bytes, io.write_calls)] * (not reads)
        parts += [f"faults {in_words(faults(recording), 'count')}"] * (reads and move == "map")
        parts += [_waits(recording.switches.voluntary)] * reads
        parts += [f"lent pages at the peak {in_words(peak.file, 'bytes')}"] * (move == "map")
        parts += [f"anonymous memory at the peak {in_words(peak.anonymous, 'bytes')}"]
        told.append(f"{name}: {', '.join(filter(None, parts))}.")
    return f"What is copied between disk, page cache and user memory, one row per method. {' '.join(told)}"
