"""What this machine can measure, found by trying."""

import mmap
import os
import platform
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from . import maps, sampler
from .advice import page_out
from .cache import page_cache
from .run import measure
from .sharing import sharing
from .tables import html_table, text_table

# What readers call it, the meter of a Recording that shows whether it works, and where the figure comes from.
TRIED = (
    ("anonymous, file-backed, shared", "anonymous", "/proc/<pid>/status, sampled from outside"),
    ("resident memory as a whole", "resident", "a sample takes {sample:.0f} µs; the aim is one every 1,000 µs"),
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
    """A row per meter: is it measured here, and how, or why not?"""

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
    with closing(sampler.choose()(os.getpid())) as own:
        sample = sampler.cost(own) * 1e6
    rows = [_given(name, meter not in missing, how.format(sample=sample)) for name, meter, how in TRIED]
    rows.append(Ability("heap", True, "tracemalloc, in a second run"))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page"
        file.write_bytes(bytes(4096))
        cache, not_taken = page_cache(file), _error(_take_away_a_page, file)
    rows += [
        _tried("page states", maps.why_not(), "/proc/<pid>/pagemap, for your own processes"),
        _tried("page cache of a file", cache.why if cache.cached is None else None, "mincore(2), for your own files"),
        _tried("… its dirty pages", cache.why if cache.dirty is None else None, "cachestat(2)"),
        _tried("pages taken away", not_taken, "madvise(2), MADV_PAGEOUT"),
        _tried("memory shared by processes", _error(_own_sharing), "/proc/<pid>/smaps_rollup"),
    ]
    rows += [_given(f"os.{name}", hasattr(os, name), f"{name}(2)") for name in ("sendfile", "copy_file_range")]
    return Abilities(tuple(rows))


def _given(name: str, here: bool, how: str) -> Ability:
    return Ability(name, here, how if here else f"{platform.system()} does not give {how} to this Python")


def _tried(name: str, reason: str | None, how: str) -> Ability:
    """`reason`: why it isn't measured here; None or "" if it is."""
    return Ability(name, not reason, reason or how)


def _error(attempt: Callable[..., str | None], *args: Any) -> str | None:
    try:
        return attempt(*args)
    except OSError as error:
        return str(error.strerror)


def _take_away_a_page(file: Path) -> None:
    with open(file, "rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
        page_out(mapping)


def _own_sharing() -> str:
    return sharing([os.getpid()]).why
