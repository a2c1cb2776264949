"""Writes files piece by piece, so no file is ever whole in memory; compares files that already
exist.
"""

import errno
import operator
import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.random import SFC64, SeedSequence

from .. import units
from ..folders import generated
from ..safe_files import followed, whole_file
from ..widgets import progress_bar


@dataclass(frozen=True)
class Made:
    """A file to make. `pieces()` yields functions that each make a piece, the same on every call;
    none is empty.
    """

    path: Path
    size: int  # in bytes, or a little more if the size isn't known in advance
    pieces: Callable[[], Iterable[Callable[[], bytes | np.ndarray]]]


def place(path: str | os.PathLike) -> Path:
    """A bare name goes into `folders.generated()`; a path with a folder is used as is."""
    return Path(path) if os.path.dirname(path) else generated() / path


def checked_seed(seed: int) -> int:
    """`seed` as an int; ValueError or TypeError if it isn't a whole number of 32 bits."""
    seed = operator.index(seed)
    if not 0 <= seed < 2**32:  # a larger seed would share pieces with a smaller seed
        raise ValueError(f"a seed is a whole number from 0 to 4294967295, not {seed}")
    return seed


def random_bytes(size: int, *key: int | str) -> np.ndarray:
    """(size,) uint8 for a seed, a name and a number. numpy promises never to change SFC64's stream,
    or `random_raw`.
    """
    seeds = [crc32(part.encode()) if isinstance(part, str) else part for part in key]
    words = SFC64(SeedSequence(seeds)).random_raw(-(-size // 8))
    return words.astype("<u8", copy=False).view(np.uint8)[:size]


def make(file: Made, by: str) -> None:
    """Makes the file, or leaves an existing one, or raises, as `random_file` says; `by` names the
    call in errors.
    """
    target = followed(file.path)  # a link stays, and its file is made
    if target.is_file():
        if is_made(file):
            return
        if not (target.is_relative_to(generated()) or _begins_alike(file)):
            remedy = "choose another name, or move or delete it"
            why = f"a file that {by} didn't make is in the way, and was left as it is; {remedy}"
            raise FileExistsError(errno.EEXIST, why, str(target))
    with whole_file(file.path, file.size) as out:
        # reserved, the space can't run out on the way, and is written faster
        with suppress(AttributeError, OSError):
            os.posix_fallocate(out.fileno(), 0, file.size)
        _each(file, "writing", out.write)
        out.truncate()


def is_made(file: Made) -> bool:
    """Does the file hold its pieces, and nothing else?"""
    buffer = bytearray()

    def is_next(piece: bytes | np.ndarray) -> bool:
        nonlocal buffer
        if len(buffer) != len(piece):
            buffer = bytearray(len(piece))
        return there.readinto(buffer) == len(piece) and buffer == memoryview(piece)

    with file.path.open("rb") as there:
        return _each(file, "checking", is_next) and not there.read(1)


def _begins_alike(file: Made) -> bool:
    """Is its first MiB that of the file to make? A few matching bytes prove nothing."""
    first = bytearray()
    for piece in file.pieces():
        first += memoryview(piece())
        if len(first) >= units.MiB:
            break
    with file.path.open("rb") as there:
        return first.startswith(there.read(max(len(first), 64)))


def _each(file: Made, doing: str, use: Callable[[bytes | np.ndarray], object]) -> bool:
    """Uses the pieces in order, with a progress bar, until `use` returns False: then it's False,
    and otherwise True. Two threads take turns: while one uses the piece that it made, the other
    makes the next.
    """

    def work(piece: Callable[[], bytes | np.ndarray], before: Future | None) -> int:
        made = piece()
        return len(made) if (before is None or before.result()) and use(made) else 0

    title = f"{doing} {file.path.name}"
    running = deque()
    bar = progress_bar(desc=title, total=file.size, unit="iB", unit_scale=True, unit_divisor=1024)
    with bar, ThreadPoolExecutor(2) as pool:
        for piece in file.pieces():
            running.append(pool.submit(work, piece, running[-1] if running else None))
            if len(running) > 2:
                if not (used := running.popleft().result()):
                    return False
                bar.update(used)
        return all([one.result() for one in running])
