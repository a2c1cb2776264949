"""Load: what a server answered while it was asked all the time, and what it had in memory
meanwhile.
"""

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import nan
from statistics import median
from typing import Any, NamedTuple

from .jsonable import Measured
from .machine import Machine, here
from .tables import Count, Rows, Tabled

AFTER = 0.4  # seconds that something done to the server may take


class Tick(NamedTuple):
    """A moment of asking: when it ended and how long it was, in seconds; how many requests were
    answered and how many failed; how long the slowest 1 % took at least, in seconds (None if
    nothing was answered).
    """

    at: float
    took: float
    answers: int
    failed: int
    slowest: float | None


class Look(NamedTuple):
    """What all workers together had in memory at a moment, in bytes; None where the system doesn't
    tell.

    file    pages of the models' files, each page counted once
    starts  how often a worker was started; and how those ended that were replaced: "SIGBUS"
    """

    at: float
    anonymous: Count
    file: Count
    starts: int = 0
    ended: tuple[str, ...] = ()


@dataclass(eq=False, repr=False)
class Load(Measured, Tabled):
    """Grows while it's being made. Times are seconds since it began.

    marks    when something was done to the server, and what
    seen     how often each answer came: (the version that it names, the digits, as text)
    refused  why requests failed, and how many for each reason: "503", "connection lost"
    right    for each version that was published, what it reads; filled in by whoever publishes
    notes    what else is to be kept, as plain data
    """

    form = "zero-copy load"
    apart = ("began",)
    machine: Machine = field(default_factory=here)
    ticks: list[Tick] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    marks: list[tuple[float, str]] = field(default_factory=list)
    seen: Counter[tuple[str, str]] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    right: dict[str, list[int]] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)
    title = "A server under load"

    @property
    def now(self) -> float:
        return time.monotonic() - self.began

    def mark(self, what: str) -> None:
        self.marks.append((self.now, what))

    @property
    def answers(self) -> int:
        return sum(tick.answers for tick in self.ticks)

    @property
    def failed(self) -> int:
        return sum(tick.failed for tick in self.ticks)

    @property
    def versions(self) -> set[str]:
        return {version for version, _ in self.seen}

    @property
    def torn(self) -> Counter[tuple[str, str]]:
        """The answers that aren't what the version that they name reads, and how often each
        came.
        """
        right = {version: str(list(digits)) for version, digits in self.right.items()}
        return Counter(
            {each: often for each, often in self.seen.items() if right.get(each[0]) != each[1]}
        )

    def pace(self, marked: bool) -> tuple[float, float]:
        """Answers per second, and how long the slowest 1 % took in seconds, the median of the
        ticks. Marked are those that have a part of the AFTER seconds after a mark. Those before the
        first mark don't count: clients and workers are still starting. NaN where there are none.
        """
        first = self.marks[0][0] if self.marks else 0
        ticks = [
            one
            for one in self.ticks
            if one.at > first
            and marked == any(at < one.at < at + AFTER + one.took for at, _ in self.marks)
        ]
        slowest = [one.slowest for one in ticks if one.slowest is not None]
        took = sum(one.took for one in ticks)
        rate = sum(one.answers for one in ticks) / took if took else nan
        return rate, median(slowest) if slowest else nan

    @property
    def died(self) -> int:
        """How many workers died, and were replaced."""
        return self.looks[-1].starts - self.looks[0].starts if self.looks else 0

    @property
    def ended(self) -> set[str]:
        """How they ended, as far as we looked."""
        return {how for look in self.looks for how in look.ended}

    @property
    def missing(self) -> tuple[str, ...]:
        """("anonymous", "file") where the system doesn't tell kinds of memory apart."""
        return (
            () if any(look.anonymous is not None for look in self.looks) else ("anonymous", "file")
        )

    def table(self) -> Rows:
        slowest = max((tick.slowest for tick in self.ticks if tick.slowest), default=0)
        figures = (
            f"{self.answers:,}",
            f"{self.failed:,}",
            f"{len(self.marks)}",
            f"{1000 * slowest:.0f} ms",
        )
        return ("answers", "failed", "marks", "the slowest 1 %, at worst"), [figures]

    def to_json(self) -> dict:
        seen = [[*answer, often] for answer, often in self.seen.items()]
        return super().to_json() | {"seen": seen}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "Load":
        load = super().from_json(plain)
        load.seen = Counter({(version, digits): often for version, digits, often in load.seen})
        load.refused = Counter(load.refused)
        return load
