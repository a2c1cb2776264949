"""A text of four letters, to build an index for."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from .. import units
from .pieces import Made, checked_seed, make, place, random_bytes

CHUNK = units.MiB
FOUR_LETTERS = np.frombuffer(b"ACGT", np.uint8)[np.arange(256)[:, None] >> np.array([0, 2, 4, 6]) & 3]  # for each byte


def dna(path: str | os.PathLike, size: int | str, seed: int = 0) -> Path:
    """A file of `size` letters A, C, G and T, one byte each, with no line end.

    All letters are equally likely and independent of their neighbours (unlike real DNA). A shorter file is the start of
    a longer one. Otherwise as `random_file`.
    """
    path, size, seed = place(path), units.size(size), checked_seed(seed)

    def pieces() -> Iterator[np.ndarray]:
        for i, begin in enumerate(range(0, size, CHUNK)):
            letters = FOUR_LETTERS[random_bytes(CHUNK // 4, seed, "dna", i)]
            yield letters.reshape(-1)[: size - begin]

    make(Made(path, size, pieces), by=f"dna(seed={seed})")
    return path
