"""Runs rows, each and its control, and says what happened."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from ..folders import ROOT
from ..measure import NotMeasuredHere
from .files import COPIES, LENDS, Library, Row

TIMEOUT_S = 600  # for all rows of a library, on a busy machine
UNCLEAR = "neither"
# Of SIZE, or of the result's bytes: up to which it lends, and from which it copies.
LITTLE, MOST = 0.1, 0.75
# glibc's own limit moves, and then a freed block is used again, where a copy goes unseen
MALLOC = {"MALLOC_MMAP_THRESHOLD_": "1048576", "MALLOC_TOP_PAD_": "131072"}


@dataclass(frozen=True)
class Found:
    """What one run of a row found, for the call and for its control. `shared` and `took` as
    shares: see child.tried; `error`: why it didn't end.
    """

    shared: float | None = None
    took: float = 0.0
    error: str = ""

    def verdict(self, by: str) -> str:
        """ "lends", "copies" or "neither", by this instrument."""
        shared = None if self.shared is None else 1 - self.shared
        copied = shared if by == "address" else self.took
        if self.error or copied is None or LITTLE < copied < MOST:
            return UNCLEAR
        return LENDS if copied <= LITTLE else COPIES


@dataclass(frozen=True)
class Run:
    """A library's rows as they ran: the versions, and by name what the call and its control did."""

    versions: dict[str, str]
    found: dict[str, tuple[Found, Found]]

    def holds(self, row: Row) -> bool:
        """Does it do what the row says, and its control the opposite?"""
        call, control = self.found[row.name]
        opposite = COPIES if row.does == LENDS else LENDS
        return (call.verdict(row.by), control.verdict(row.by)) == (row.does, opposite)


def run(library: Library, rows: Sequence[Row] = ()) -> Run:
    """Runs these rows, or all, in a process of their own. NotMeasuredHere where a library or Linux
    is missing, RuntimeError where the process ends before its rows do.
    """
    if sys.platform != "linux":
        raise NotMeasuredHere("a call's memory is read from Linux's /proc")
    rows = rows or library.rows
    jobs = [asdict(row) for row in rows]
    jobs += [job | {"call": job["control"]} for job in jobs]
    job = {"imports": library.imports, "in_each": library.in_each}
    job |= {"versions": library.versions, "rows": jobs}
    ended = subprocess.run(
        [sys.executable, "-m", f"{__package__}.child"],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        env=os.environ | MALLOC | {"PYTHONPATH": str(ROOT)},
    )
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    if len(lines) <= len(jobs):
        raise RuntimeError(f"{library.name}: {ended.stderr.strip()[-1000:]}")
    found = [Found(**line) for line in lines[1:]]
    names = [row.name for row in rows]
    pairs = zip(found[: len(rows)], found[len(rows) :], strict=True)
    return Run(lines[0], dict(zip(names, pairs, strict=True)))
