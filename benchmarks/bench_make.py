"""Ways to write a file of random bytes, against random_file: `python benchmarks/bench_make.py
[SIZE] [ROUNDS]`.

Each way writes a new file in the folder for generated files, without the final sync unless its row
says so. Every round runs all ways, one after another, and the table gives each way's best round.
The first round doesn't count: the first touch of a machine's memory can cost many times the next.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from unittest.mock import patch

import numpy as np

from helpers import units
from helpers.folders import generated
from helpers.make import random_file
from helpers.measure.machine import here

BLOCK = units.MiB


def blocks(path: Path, size: int, block: Callable[[], bytes]) -> None:
    with path.open("wb", buffering=0) as file:
        for _ in range(size // BLOCK):
            file.write(block())


def random_file_unsynced(path: Path, size: int) -> None:
    with patch.object(os, "fsync", lambda _: None):
        random_file(path, size)


def repeated(path: Path, size: int) -> None:
    block = os.urandom(BLOCK)
    blocks(path, size, lambda: block)


def generator_bytes(path: Path, size: int) -> None:
    generator = np.random.default_rng(0)
    blocks(path, size, lambda: generator.bytes(BLOCK))


def os_urandom(path: Path, size: int) -> None:
    blocks(path, size, lambda: os.urandom(BLOCK))


def dd(path: Path, size: int) -> None:
    command = ["dd", "if=/dev/urandom", f"of={path}", f"bs={BLOCK}", f"count={size // BLOCK}"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


def digest(path: Path, size: int) -> None:
    with path.open("rb") as file:
        hashlib.file_digest(file, "sha256")


OURS, BOUND, DD = "random_file", "one repeated block (the bound)", "dd if=/dev/urandom bs=1M"
WAYS: dict[str, Callable[[Path, int], object]] = {
    OURS: random_file_unsynced,
    BOUND: repeated,
    "Generator.bytes": generator_bytes,
    "os.urandom": os_urandom,
    DD: dd,
    "random_file, sync included": random_file,
    "random_file, the file exists: compared": random_file,  # with the file from the row above
    "for comparison: its SHA-256": digest,
}
REUSE = list(WAYS)[-2:]


def main(size: int, rounds: int) -> None:
    path = generated() / "bench_make.bin"
    ways = {name: way for name, way in WAYS.items() if name != DD or shutil.which("dd")}
    best = dict.fromkeys(ways, float("inf"))
    try:
        for round_ in range(rounds + 1):
            for name, way in ways.items():
                if name not in REUSE:
                    path.unlink(missing_ok=True)
                start = perf_counter()
                way(path, size)
                if round_:
                    best[name] = min(best[name], perf_counter() - start)
    finally:
        path.unlink(missing_ok=True)
    print(
        f"{units.in_words(size, 'bytes')}, best of {rounds} rounds. {here(generated())}, numpy "
        f"{np.__version__}\n"
    )
    print("| way | seconds | × the bound |\n|---|---:|---:|")
    for name, seconds in best.items():
        print(f"| {name} | {seconds:.3f} | {seconds / best[BOUND]:.2f} |")
    print(
        f"\nrandom_file takes {best[OURS] / best[BOUND]:.2f} times the bound (target: at most 1.4)",
        end="",
    )
    print(
        f", and dd {best[DD] / best[OURS]:.1f} times random_file (target: at least 8)"
        if DD in best
        else ""
    )


if __name__ == "__main__":
    main(units.size((sys.argv[1:] or ["1 GiB"])[0]), int((sys.argv[2:] or [5])[0]))
