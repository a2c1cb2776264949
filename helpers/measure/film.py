"""What an explorer's actions did: a `Step` for each, and a `Film` of them all."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..units import in_words
from .cache import PageCache
from .machine import Machine
from .pages import PageMap
from .plain import reading
from .tables import Tabled

FORMAT, VERSION = "zero-copy film of pages", 1


@dataclass(frozen=True, eq=False)
class Step:
    """What an action did. `mine` and `child` are page tables, `cache` is what the page cache holds of the file.

    minor, major, device_read_bytes: what the action cost the process that did it, getrusage(2) and proc_pid_io(5);
    None where not measured. value: the byte that `touch` read, or a tuple of bytes.
    """

    action: str
    mine: PageMap
    cache: PageCache
    child: PageMap | None = None
    minor: int | None = None
    major: int | None = None
    device_read_bytes: int | None = None
    value: Any = None

    def __repr__(self) -> str:
        child = "" if self.child is None else f"; the child's: {self.child!r}"
        return f"<{self.action}: mine {self.mine!r}; cache {self.cache!r}{child}>"

    def to_json(self) -> dict:
        child = None if self.child is None else self.child.to_json()
        return vars(self) | {"mine": self.mine.to_json(), "cache": self.cache.to_json(), "child": child}

    @classmethod
    def from_json(cls, plain: Mapping) -> "Step":
        child = None if plain["child"] is None else PageMap.from_json(plain["child"])
        value = tuple(plain["value"]) if isinstance(plain["value"], list) else plain["value"]
        tables = {"mine": PageMap.from_json(plain["mine"]), "cache": PageCache.from_json(plain["cache"])}
        return cls(**{**plain, **tables, "child": child, "value": value})


class Film(Tabled, Sequence[Step]):
    """Steps in order; a slice is a Film. `machine`: where they were made."""

    title = "Pages after each action, and what the action cost"

    def __init__(self, steps: Iterable[Step], machine: Machine | None = None):
        self.steps, self.machine = tuple(steps), machine

    def __getitem__(self, at: int | slice) -> "Step | Film":
        return Film(self.steps[at], self.machine) if isinstance(at, slice) else self.steps[at]

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def missing(self) -> tuple[str, ...]:
        """("page states",) where this machine doesn't show them."""
        return ("page states",) if any(step.mine.states is None for step in self) else ()

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        forked = any(step.child is not None for step in self)
        header = ("action", "my page table", *(["the child's"] if forked else []), "page cache",
                  "minor faults", "major faults", "read from the device")  # fmt: skip
        rows = [
            (
                step.action,
                _summary(step.mine),
                *([_summary(step.child)] if forked else []),
                "not measured here" if step.cache.cached is None else f"{step.cache.count:,} of {len(step.cache):,}",
                in_words(step.minor, "count"),
                in_words(step.major, "count"),
                in_words(step.device_read_bytes, "bytes"),
            )
            for step in self
        ]
        return header, rows

    def to_json(self) -> dict:
        machine = self.machine and asdict(self.machine)
        return {"format": FORMAT, "version": VERSION, "machine": machine, "steps": [step.to_json() for step in self]}

    @classmethod
    def from_json(cls, plain: Mapping) -> "Film":
        with reading(plain, FORMAT, VERSION):
            machine = plain["machine"] and Machine(**plain["machine"])
            return cls((Step.from_json(step) for step in plain["steps"]), machine)


def _summary(pages: PageMap | None) -> str:
    """A page table in a few words: "1 file-backed, 15 absent"."""
    if pages is None:
        return "–"
    if pages.states is None:
        return "not measured here"
    return ", ".join(f"{count:,} {state.words}" for state, count in pages.counts.items()) or "no page"
