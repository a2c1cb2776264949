"""Recording: what one run of a function cost. Comparison: several methods, one Recording each.

`show` draws them, an exercise checks them, a claim asserts them, and `data/recorded/` keeps them as
JSON.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from ..units import MiB, in_words
from .jsonable import Measured
from .machine import Machine
from .tables import Count, Rows, Tabled, html_table


@dataclass(frozen=True)
class Peak:
    """Highest growth over the state before the call, bytes; None where this machine has no such
    meter.

    A kind's peak is its highest sample: a shorter one can be missed. `resident` isn't, where the
    kernel keeps its peak.
    """

    anonymous: Count = None
    file: Count = None
    shared: Count = None
    resident: Count = (
        None  # all three together, at one moment; the kernel's high-water mark where it keeps that
    )


@dataclass(frozen=True)
class Faults:
    """Page faults, getrusage(2): a minor fault found the page in memory, a major fault waited for
    the device.
    """

    minor: Count = None
    major: Count = None


@dataclass(frozen=True)
class Switches:
    """Context switches, getrusage(2): voluntary (the process waited) and involuntary (its turn was
    over).
    """

    voluntary: Count = None
    involuntary: Count = None


@dataclass(frozen=True)
class IO:
    """proc_pid_io(5). Calls and bytes of the read and write families (sendfile and copy_file_range
    count in both), and the bytes that really reached the device. Bytes moved through a mapping
    appear in none of the calls.
    """

    read_calls: Count = None
    write_calls: Count = None
    read_bytes: Count = None
    write_bytes: Count = None
    device_read_bytes: Count = None
    device_write_bytes: Count = None


class Mark(NamedTuple):
    """A moment that the function marked, in seconds since the call began; its own growth until
    then, in bytes; and the bytes read until then. Where a call of `-f` begins and ends,
    `call` is the same number.
    """

    name: str
    time: float
    anonymous: Count = None
    file: Count = None
    shared: Count = None
    read_bytes: Count = None
    call: int = 0

    @property
    def resident(self) -> int:
        return sum(filter(None, self[2:5]))


class Meter(NamedTuple):
    title: str
    unit: str  # "bytes", "count" or "seconds"
    path: str  # of a Recording's attribute

    def read(self, run: "Recording") -> float | None:
        return attrgetter(self.path)(run)


METERS: dict[str, Meter] = {
    "anonymous": Meter("anonymous, peak", "bytes", "peak.anonymous"),
    "file": Meter("file-backed, peak", "bytes", "peak.file"),
    "shared": Meter("shared, peak", "bytes", "peak.shared"),
    "virtual": Meter("address space, peak", "bytes", "virtual_peak"),
    "resident": Meter("resident, peak", "bytes", "peak.resident"),
    "heap": Meter("heap, peak, in a run of its own", "bytes", "heap_peak"),
    "minor faults": Meter("minor faults", "count", "faults.minor"),
    "major faults": Meter("major faults", "count", "faults.major"),
    "switches": Meter("waits", "count", "switches.voluntary"),
    "read calls": Meter("read calls", "count", "io.read_calls"),
    "write calls": Meter("write calls", "count", "io.write_calls"),
    "device reads": Meter("read from device", "bytes", "io.device_read_bytes"),
    "wall": Meter("time", "seconds", "wall"),
    "user": Meter("user time", "seconds", "user"),
    "system": Meter("system time", "seconds", "system"),
}


@dataclass(frozen=True, eq=False)
class Recording(Measured):
    """A run of a function in a fresh process. Memory is growth over the process's state just before
    the call. None: not measured.

    times         (n,) float64, seconds since the call began
    anonymous     (n,) int64, bytes: its own pages, which only swap could take, and those of
                  processes that it started
    file          (n,) int64, bytes: pages of files, lent by the page cache
    shared        (n,) int64, bytes: shared memory, its own and that of processes that it started
    resident      (n,) int64, bytes: all resident pages, of every kind
    high_water    bytes: the kernel's own high-water mark of resident, which misses no peak
    imported      bytes: what resident memory grew by while the function imported modules: code,
                  mostly
    imports       the modules that took a tenth of that or more, the largest first
    marks         what `mark` marked, in the order of time; of more than 1,000 some, and the highest
                  of each name
    marked        how many marks there were
    stack         text: the Python stacks that allocated what was there at the peak and at the end
                  of a separate run, however that ended (`stack=True`)
    virtual_peak  bytes: address space, resident or not; the highest sample
    heap_peak     bytes: tracemalloc's peak in a second, separate run (`heap=True`)
    heap_left     bytes: what was left on the heap when that ended, what it returned included
    wall, user, system   seconds
    value      what the function returned
    ended      "returned", "raised", "timed out", "memory limit", "printed too much", a signal's
               name ("SIGBUS"), "interrupted", "exited 3", or "lost contact" if it could no longer
               report
    error      None, or text: the exception with its traceback, or why the value could not be sent
               back
    unseen     None, or text: why there may have been memory that the sampler didn't see
    """

    form = "zero-copy recording"
    name: str
    times: np.ndarray
    resident: np.ndarray
    machine: Machine
    anonymous: np.ndarray | None = None
    file: np.ndarray | None = None
    shared: np.ndarray | None = None
    high_water: Count = None
    virtual_peak: Count = None
    heap_peak: Count = None
    heap_left: Count = None
    faults: Faults = field(default_factory=Faults)
    switches: Switches = field(default_factory=Switches)
    io: IO = field(default_factory=IO)
    wall: float | None = None
    user: float | None = None
    system: float | None = None
    value: Any = None
    ended: str = "returned"
    error: str | None = None
    imported: Count = None
    imports: tuple[str, ...] = ()
    marks: tuple[Mark, ...] = ()
    marked: int = 0
    stack: str | None = None
    unseen: str | None = None

    @property
    def left(self) -> dict[str, int]:
        """Growth of each kind that stayed when the call ended, bytes, what it returned included. {}
        if it was stopped or died, or if the kinds aren't known.
        """
        if self.ended not in ("returned", "raised") or self.anonymous is None:
            return {}
        return {kind: int(getattr(self, kind)[-1]) for kind in ("anonymous", "file", "shared")}

    @property
    def missed(self) -> int:
        """Bytes by which the kernel's high-water mark is above the highest sample; 0 if that's at
        most a tenth, or 1 MiB: then the sampler has seen the peak.
        """
        seen = _highest(self.resident)
        above = (self.high_water or 0) - seen
        return above if above > max(seen / 10, MiB) else 0

    @property
    def peak(self) -> Peak:
        def highest(kind: str) -> int | None:  # a mark may fall on a peak between two samples
            marked = [getattr(mark, kind) or 0 for mark in self.marks]
            return (
                None if (seen := _highest(getattr(self, kind))) is None else max(seen, *marked, 0)
            )

        kinds = {kind: highest(kind) for kind in ("anonymous", "file", "shared")}
        return Peak(**kinds, resident=max(_highest(self.resident), self.high_water or 0))

    @property
    def missing(self) -> tuple[str, ...]:
        """The meters that gave nothing. The heap is measured only on request, so it's never
        listed.
        """
        return tuple(
            name for name, meter in METERS.items() if name != "heap" and meter.read(self) is None
        )

    def meter(self, name: str) -> float | None:
        """A figure by its name in METERS: `recording.meter("minor faults")`; None if not
        measured.
        """
        return meter_named(name).read(self)

    def __repr__(self) -> str:
        kinds = {
            "anonymous": self.peak.anonymous,
            "file-backed": self.peak.file,
            "shared": self.peak.shared,
        }
        known = [
            f"{in_words(peak, 'bytes')} {kind}" for kind, peak in kinds.items() if peak is not None
        ]
        peaks = (
            " · ".join(known)
            or f"{in_words(self.peak.resident, 'bytes')} resident (kinds not measured here)"
        )
        took = f" · {in_words(self.wall, 'seconds')}" if self.wall is not None else ""
        return f"<{self.name}: {self.ending}, peak {peaks}{took}>"

    @property
    def ending(self) -> str:
        return ending(self.ended, self.error)

    def _repr_html_(self) -> str:
        shown = [
            meter for name, meter in METERS.items() if name != "heap" or self.heap_peak is not None
        ]
        rows = [(meter.title, in_words(meter.read(self), meter.unit)) for meter in shown]
        return html_table(
            f"{self.name}: {self.ending}. Growth during the call.", ("meter", "measured"), rows
        )


class Comparison(Tabled, dict[str, Recording]):
    """Methods by name, in the order given: `comparison["mmap"].peak.file`.

    With `repeat` above 1, each method's Recording is its fastest run that returned (a disturbance
    makes a run slower, never faster), and `runs` holds them all.
    """

    title = "Growth during the call, one fresh process per method"

    def __init__(self, runs: Mapping[str, Iterable[Recording]]):
        self.runs = {name: tuple(its) for name, its in runs.items()}
        super().__init__(
            {
                n: min(its, key=lambda r: (r.ended != "returned", r.wall))
                for n, its in self.runs.items()
            }
        )

    @property
    def missing(self) -> tuple[str, ...]:
        """Meters that gave nothing for any method: what this machine can't measure."""
        return tuple(
            name for name in METERS if self and all(name in r.missing for r in self.values())
        )

    @property
    def machine(self) -> Machine:
        return next(iter(self.values())).machine

    def table(self, *meters: str) -> Rows:
        """Header and rows, as text: a row per method, a column per meter (without names: every
        meter measured).
        """
        names = meters or tuple(
            m for m in METERS if any(r.meter(m) is not None for r in self.values())
        )
        chosen = [meter_named(name) for name in names]
        rows = [
            (
                name if r.ended == "returned" else f"{name} ({r.ended})",
                *(in_words(m.read(r), m.unit) for m in chosen),
            )
            for name, r in self.items()
        ]
        return ("method", *(m.title for m in chosen)), rows

    def to_json(self) -> dict:
        """Plain data: a list of recordings by name."""
        return {name: [r.to_json() for r in its] for name, its in self.runs.items()}

    @classmethod
    def from_json(cls, plain: Mapping) -> "Comparison":
        if not (
            plain
            and isinstance(plain, Mapping)
            and all(isinstance(its, list) and its for its in plain.values())
        ):
            raise ValueError(
                "not a comparison, which is an object of lists of recordings by name: "
                f"{plain!r:.80}"
            )
        return cls({name: [Recording.from_json(r) for r in its] for name, its in plain.items()})


def meter_named(name: str) -> Meter:
    """ValueError for a name that METERS doesn't have."""
    if name not in METERS:
        raise ValueError(f"no meter {name!r}; there are: {', '.join(METERS)}")
    return METERS[name]


def ending(ended: str, error: str | None) -> str:
    return f"raised {error.strip().splitlines()[-1]}" if ended == "raised" and error else ended


def _highest(series: np.ndarray | None) -> int | None:
    return None if series is None else max(0, int(series.max(initial=0)))
