"""What copying 1 GiB takes and costs in Rust, each way in processes of its own, beside cp and dd:
`python benchmarks/bench_rust.py` prints what `data/recorded/rust_copy.csv` holds, so `>
data/recorded/rust_copy.csv`.
"""

import csv
import io
import os
import subprocess
import time
from pathlib import Path

from helpers.folders import generated, scratch_folder
from helpers.measure import drop_from_cache
from helpers.measure.machine import here
from helpers.publish.record import TEXT, NotBuilt, answers, built, figures_in
from helpers.units import GiB, MiB

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


def copies(program: Path, size: int, rounds: int = 3) -> str:
    """The table as CSV: the ways of `program`, copy.rs as it was built, with `size` bytes; then cp
    and dd.
    """
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(("method", *COUNTS, *SECONDS))
    with scratch_folder("rust-copies") as folder:
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
            counts = [
                round(figures[key] / unit) if key in figures else ""
                for key, unit in COUNTS.values()
            ]
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


def main() -> None:
    with scratch_folder("rust") as work:
        try:
            project = built("crates", work)
        except NotBuilt as why:
            return print(f"The programs with crates can't be built here: {why}")
        made = next(answer for _, answer in answers(project))
        machine, tools = (
            here(generated()),
            ", ".join(f"{name} {version}" for name, version in made["crates"].items()),
        )
        named = f"{machine.system}, {machine.cores} × {machine.cpu}, {machine.file_system}"
        print(
            f"# Recorded, not measured here: copying 1 GiB in Rust ({made['compiler']}, release "
            f"build; {tools}) on {named}. Bytes as counted by an allocator; memory in MiB just "
            "after the copy; warm: the source was in the page cache, cold: it was not; seconds "
            "are the best of several whole runs."
        )
        print(copies(project / "target" / "release" / "copy", GiB), end="")


if __name__ == "__main__":
    main()
