"""Memory that several processes hold together: resident, proportional and unique.
/proc/<pid>/smaps_rollup.
"""

import errno
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..units import in_words
from . import maps
from .jsonable import Measured, fields
from .tables import NONE, Count, Rows, Tabled

COLUMNS = {
    "rss": "resident (RSS)",
    "pss": "PSS",
    "uss": "USS",
    "anonymous": "anonymous",
    "file": "file-backed",
    "private_dirty": "private dirty",
}


@dataclass(frozen=True)
class Shares:
    """A process's memory, in bytes; None if it ended before it could be read.

    rss            every resident page in full
    pss            each page divided by the number of its mappings: these add up without counting
                   twice
    uss            pages that are mapped only once (Private_Clean + _Dirty); anonymous ones are
                   freed when it ends
    anonymous      of rss: its own pages, including those that it shares with a relative after a
                   fork
    file           of rss: pages of files (rss less anonymous and shared memory)
    private_dirty  pages that nobody else maps and that were written to (a file's page: by anybody)
    """

    name: str
    pid: Count
    rss: Count
    pss: Count
    uss: Count
    anonymous: Count
    file: Count
    private_dirty: Count
    value: Any = None
    ended: str = ""


@dataclass(frozen=True, repr=False)
class Sharing(Measured, Tabled):
    """A row per process. `what`: "in use", or "growth" since the work began. `why`: why there are
    no rows.
    """

    form = "zero-copy sharing"
    rows: tuple[Shares, ...]
    what: str = "in use"
    why: str = ""

    @property
    def missing(self) -> tuple[str, ...]:
        """("sharing",) where this machine doesn't show it."""
        return ("sharing",) if self.why else ()

    def total(self, column: str) -> int | None:
        """Bytes of all processes together; only `pss` counts no page twice. None if any wasn't
        measured.
        """
        if column not in COLUMNS:
            raise ValueError(f"no column {column!r}; there are: {', '.join(COLUMNS)}")
        figures = [getattr(row, column) for row in self.rows]
        return sum(figures) if figures and None not in figures else None

    @property
    def title(self) -> str:
        return f"Memory of several processes, {self.what}" + " since the work began" * (
            self.what == "growth"
        )

    def table(self) -> Rows:
        if self.why:
            return ("process", "measured"), [(NONE, f"not here: {self.why}")]
        named = []
        for row in self.rows:
            name = row.name if row.ended in ("", "returned") else f"{row.name} ({row.ended})"
            named.append((name, [getattr(row, column) for column in COLUMNS]))
        if len(named) > 1:
            named.append(("together", [self.total(column) for column in COLUMNS]))
        rows = [
            (name, *(NONE if n is None else in_words(n, "bytes") for n in figures))
            for name, figures in named
        ]
        return ("process", *COLUMNS.values()), rows


def sharing(pids: Mapping[str, int] | Iterable[int]) -> Sharing:
    """What each of these processes has in memory now: `sharing({"worker 1": 4711, …})`, or numbers
    alone.

    The kernel walks all their pages for that, so use it for single, exact readings.
    ProcessLookupError for a process that has ended, PermissionError for another user's.
    """
    if reason := maps.why_not():
        return Sharing((), why=reason)
    named = pids if isinstance(pids, Mapping) else {f"process {pid}": pid for pid in pids}
    return Sharing(tuple(_read(name, pid) for name, pid in named.items()))


def _read(name: str, pid: int) -> Shares:
    with maps.translate_proc_errors(pid):
        rollup = fields(Path(f"/proc/{pid}/smaps_rollup").read_text())  # Linux 4.14
        # The rollup has no plain figure for shared memory. `status` has, but each CPU counts for
        # itself: read it only if there is any.
        shared = 0
        if rollup.get("Pss_Shmem", 1):
            shared = fields(Path(f"/proc/{pid}/status").read_text()).get("RssShmem", 0)
        if "Rss" not in rollup:
            raise ProcessLookupError(errno.ESRCH, "no memory")
    return Shares(
        name,
        operator.index(pid),
        rss=rollup["Rss"],
        pss=rollup["Pss"],
        uss=rollup["Private_Clean"] + rollup["Private_Dirty"],
        anonymous=rollup["Anonymous"],
        file=max(0, rollup["Rss"] - rollup["Anonymous"] - shared),
        private_dirty=rollup["Private_Dirty"],
    )
