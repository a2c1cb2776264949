"""What this machine can measure, found by trying."""

import os
import platform
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from . import sampler
from .cache import page_cache
from .run import measure
from .tables import html_table, text_table

# What a reader calls it, the meter of a Recording that tells whether it works, and where the figure comes from.
TRIED = (
    ("anonymous, file-backed, shared", "anonymous", "/proc/<pid>/status, sampled from outside"),
    ("resident memory as a whole", "resident", "one sample takes {sample:.0f} µs, one is wanted every 1,000 µs"),
    ("minor and major faults", "minor faults", "getrusage(2)"),
    ("waits", "switches", "getrusage(2)"),
    ("read and write calls", "read calls", "/proc/<pid>/io"),
    ("time", "wall", "the clock of the measured process itself"),
)


class Ability(NamedTuple):
    meter: str
    here: bool
    why: str


@dataclass(frozen=True)
class Abilities:
    """One row a meter: is it measured here, and how, or why not."""

    rows: tuple[Ability, ...]

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        return ("meter", "here?", "how, or why not"), [(r.meter, "yes" if r.here else "no", r.why) for r in self.rows]

    def __repr__(self) -> str:
        return text_table(*self.table())

    def _repr_html_(self) -> str:
        return html_table("What this machine can measure", *self.table())


def abilities() -> Abilities:
    """Tries every meter once; takes about a second."""
    missing = measure(time.sleep, 0.005).missing
    own = sampler.choose()(os.getpid())
    sample = sampler.cost(own) * 1e6
    own.close()
    rows = [_row(name, meter not in missing, how.format(sample=sample)) for name, meter, how in TRIED]
    rows.append(Ability("heap", True, "tracemalloc, in a second run"))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page"
        file.write_bytes(bytes(4096))
        cache = page_cache(file)
    rows.append(
        Ability("page cache of a file", cache.cached is not None, cache.why or "mincore(2), for your own files")
    )
    rows += [_row(f"os.{name}", hasattr(os, name), f"{name}(2)") for name in ("sendfile", "copy_file_range")]
    return Abilities(tuple(rows))


def _row(name: str, here: bool, how: str) -> Ability:
    return Ability(name, here, how if here else f"{platform.system()} does not give {how} to this Python")
