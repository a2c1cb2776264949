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
from typing import NamedTuple

from . import maps, sampler
from .advice import page_out
from .cache import page_cache
from .run import measure
from .sharing import sharing
from .tables import Rows, Tabled

# What readers call it, the meter of a Recording that shows whether it works, and where the figure
# comes from.
TRIED = (
    ("anonymous, file-backed, shared", "anonymous", "/proc/<pid>/status, sampled from outside"),
    (
        "resident memory as a whole",
        "resident",
        "a sample takes {sample:.0f} µs; the aim is one every 1,000 µs",
    ),
    ("minor and major faults", "minor faults", "getrusage(2)"),
    ("waits", "switches", "getrusage(2)"),
    ("read and write calls", "read calls", "/proc/<pid>/io"),
    ("time", "wall", "the clock of the measured process itself"),
)


class Ability(NamedTuple):
    meter: str
    here: bool
    why: str


@dataclass(frozen=True, repr=False)
class Abilities(Tabled):
    """A row per meter: is it measured here, and how, or why not?"""

    rows: tuple[Ability, ...]
    title = "What this machine can measure"

    def table(self) -> Rows:
        return ("meter", "here?", "how, or why not"), [
            (r.meter, "yes" if r.here else "no", r.why) for r in self.rows
        ]


def abilities() -> Abilities:
    """Tries every meter once; takes about a second."""
    missing = measure(time.sleep, 0.005).missing
    with closing(sampler.choose()(os.getpid())) as own:
        sample = sampler.cost(own) * 1e6
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page"
        file.write_bytes(bytes(4096))
        cache = page_cache(file)
        with (
            open(file, "rb") as opened,
            mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapping,
        ):
            not_taken = _error(lambda: page_out(mapping))
    not_given = f"{platform.system()} does not give {{}} to this Python"
    system_calls = {name: f"{name}(2)" for name in ("sendfile", "copy_file_range")}
    tried = [
        *(
            (name, not_given.format(how) if meter in missing else None, how.format(sample=sample))
            for name, meter, how in TRIED
        ),
        ("heap", None, "tracemalloc, in a second run"),
        ("page states", maps.why_not(), "/proc/<pid>/pagemap, for your own processes"),
        (
            "page cache of a file",
            cache.why if cache.cached is None else None,
            "mincore(2), for your own files",
        ),
        ("… its dirty pages", cache.why if cache.dirty is None else None, "cachestat(2)"),
        ("pages taken away", not_taken, "madvise(2), MADV_PAGEOUT"),
        (
            "memory shared by processes",
            _error(lambda: sharing([os.getpid()]).why),
            "/proc/<pid>/smaps_rollup",
        ),
        *(
            (f"os.{name}", None if hasattr(os, name) else not_given.format(how), how)
            for name, how in system_calls.items()
        ),
    ]
    return Abilities(tuple(Ability(name, not why, why or how) for name, why, how in tried))


def _error(attempt: Callable[[], str | None]) -> str | None:
    try:
        return attempt()
    except OSError as error:
        return str(error.strerror)
