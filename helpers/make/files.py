"""Files of random bytes, and of four letters, to build an index for."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from .. import units
from .pieces import Made, checked_seed, is_made, make, place, random_bytes

CHUNK = units.MiB
FOUR_LETTERS = np.frombuffer(b"ACGT", np.uint8)[
    np.arange(256)[:, None] >> np.array([0, 2, 4, 6]) & 3
]  # for each byte


def random_file(path: str | os.PathLike, size: int | str, seed: int = 0) -> Path:
    """A file of `size` random bytes ("256 MiB", or an int) at `path`, on disk when the call
    returns. A bare name ("weights.bin") goes into `folders.generated()`; a path with a folder is
    used as is. The bytes depend only on seed and position: MiB number i is the output of SFC64,
    seeded with `SeedSequence([seed, i])`, as little-endian 64-bit words. So a shorter file is the
    start of a longer one.

    If the file exists, its bytes are made again in memory and compared. A matching file is left as
    it is; another is replaced if nothing can be lost: in `folders.generated()`, or if its first MiB
    is ours. Anything else stays: FileExistsError. Other errors: ValueError (size or seed out of
    range), and those of `whole_file`. After any error, even Ctrl-C, nothing half-written stays.
    """
    path = place(path)
    make(_made(path, units.size(size), checked_seed(seed)), by=f"random_file(seed={seed})")
    return path


def is_random_file(path: Path, size: int, seed: int) -> bool:
    """Does the file hold exactly what `random_file` writes? To make its bytes again is faster than
    to digest them.
    """
    return path.stat().st_size == size and is_made(_made(path, size, seed))


def _made(path: Path, size: int, seed: int) -> Made:
    return Made(path, size, lambda: _chunks(size, lambda i: random_bytes(CHUNK, seed, i)))


def _chunks(size: int, chunk: Callable[[int], np.ndarray]) -> Iterator[Callable[[], np.ndarray]]:
    return (lambda i=i: chunk(i)[: size - i * CHUNK] for i in range(-(-size // CHUNK)))


def dna(path: str | os.PathLike, size: int | str, seed: int = 0) -> Path:
    """A file of `size` letters A, C, G and T, one byte each, with no line end, all equally likely
    and independent of their neighbours (unlike real DNA). Otherwise as `random_file`.
    """
    path = place(path)
    size = units.size(size)
    seed = checked_seed(seed)

    def letters(i: int) -> np.ndarray:
        return FOUR_LETTERS[random_bytes(CHUNK // 4, seed, "dna", i)].reshape(-1)

    make(Made(path, size, lambda: _chunks(size, letters)), by=f"dna(seed={seed})")
    return path
