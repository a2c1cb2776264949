"""data/recorded/rust_copy.csv: what copying a file takes and costs in Rust, each way in processes of its own."""

import csv
import io
import os
import subprocess
import time
from pathlib import Path

from ..folders import RECORDED, write_whole
from ..measure import crate, crates, drop_from_cache
from ..measure.twins import TEXT, figures_in
from ..scratch import room
from ..units import GiB, MiB

WAYS = {  # by the word that copy.rs has for it
    "read_to_end": "std read_to_end + write_all",
    "tokio": "tokio::io::copy (2 workers)",
    "tokio-1MiB": "tokio copy_buf 1 MiB",
    "memmap2": "memmap2 + write_all",
    "io-copy": "std::io::copy (copy_file_range)",
    "loop-64KiB": "read/write loop 64 KiB",
    "loop-1MiB": "read/write loop 1 MiB",
}
COUNTS = {  # column: what copy.rs calls it, and the unit
    "heap at the end (bytes)": ("live at the end", 1),
    "heap peak (bytes)": ("peak heap", 1),
    "anonymous (MiB)": ("anonymous", MiB),
    "file-backed (MiB)": ("file-backed", MiB),
    "minor faults": ("minor faults", 1),
}
SECONDS = ("warm (s)", "cold (s)")


def record(machine: str) -> None:
    """Measures 1 GiB and writes the file. NoRust if the programs can't be built."""
    program, made = crates.build() / "copy", crate("copy")
    compiler, tokio, memmap2 = made.compiler.split(" (")[0], made.crates["tokio"], made.crates["memmap2"]
    title = (
        f"# Recorded, not measured here: copying 1 GiB in Rust ({compiler}, release build; tokio {tokio}, "
        f"memmap2 {memmap2}) on {machine}. Bytes as counted by an allocator; memory in MiB just after the copy; warm: "
        "the source was in the page cache, cold: it was not; seconds are the best of several whole runs."
    )
    write_whole(RECORDED / "rust_copy.csv", f"{title}\n{copies(program, GiB)}")


def copies(program: Path, size: int, rounds: int = 3) -> str:
    """The table as CSV: the ways of `program`, copy.rs as it was built, with `size` bytes; then cp and dd."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(("method", *COUNTS, *SECONDS))
    with room("rust-copies") as folder:
        source, copy = folder / "source", folder / "copy"
        with source.open("wb") as file:
            for _ in range(0, size, MiB):
                file.write(os.urandom(MiB))
        commands = {name: [program, way, source, copy] for way, name in WAYS.items()}
        commands |= {
            "cp": ["cp", source, copy],
            "dd bs=1M": ["dd", "status=none", "bs=1M", f"if={source}", f"of={copy}"],
        }
        for name, command in commands.items():
            told, warm = _run(command, source, copy, rounds, cold=False)
            _, cold = _run(command, source, copy, rounds, cold=True)
            (figures,) = figures_in(told).values() or ({},)
            counts = [round(figures[key] / unit) if key in figures else "" for key, unit in COUNTS.values()]
            table.writerow((name, *counts, f"{warm:.3f}", f"{cold:.3f}"))
    return text.getvalue()


def _run(command: list, source: Path, copy: Path, rounds: int, cold: bool) -> tuple[str, float]:
    """What the last of them printed, and the seconds of the fastest."""
    seconds = []
    for _ in range(rounds):
        copy.unlink(missing_ok=True)
        if cold:
            drop_from_cache(source)
        else:
            _read(source)
        start = time.perf_counter()
        told = subprocess.run(command, check=True, **TEXT).stdout
        seconds.append(time.perf_counter() - start)
    return told, min(seconds)


def _read(path: Path) -> None:
    with path.open("rb") as file:
        while file.read(MiB):
            pass
