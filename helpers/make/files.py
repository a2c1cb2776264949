"""Random files: made by two threads, compared when they are there already."""

import os
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import BinaryIO

import numpy as np
from numpy.random import SFC64, SeedSequence
from tqdm.auto import tqdm

from .. import units
from ..whole import followed, whole_file
from .pieces import PATIENCE, checked_seed, is_there, place

CHUNK = units.MiB
THREADS = 2  # one makes a chunk while the other writes: writes to one file take turns anyway


def random_file(path: str | os.PathLike, size: int | str, seed: int = 0) -> Path:
    """A file of `size` random bytes ("256 MiB", or an int) at `path`, on disk when the call returns.

    A bare name ("weights.bin") lies in `folders.generated()`; a path with a folder is taken as it is.
    The bytes depend on seed and position only: MiB number i is what SFC64 gives, seeded by
    `SeedSequence([seed, i])`, as little-endian 64-bit words. So a shorter file is the start of a longer one.

    A file that is there already is made again in memory and compared. If it is this one, it is left as it is.
    If not, it is replaced where nothing can be lost: in `folders.generated()`, or where its first MiB is
    ours (cut short, extended, or damaged further on). Anything else stays: FileExistsError.

    Errors: ValueError (size or seed out of range), FileNotFoundError (no such folder), FileExistsError,
    IsADirectoryError, OSError with errno ENOSPC (too little room). Whatever the error, also Ctrl-C, nothing
    half-written stays; what a killed process left behind is removed when the same file is made again.
    """
    path, size, seed = place(path), units.size(size), checked_seed(seed)
    target, by = followed(path), f"random_file(seed={seed})"
    if is_there(target, by, lambda: _is_ours(target, size, seed), lambda: _begins_like_ours(target, seed)):
        return path
    with whole_file(target, size) as file:
        # Reserved in one piece, the blocks cannot run out on the way, and two threads write them faster.
        with suppress(AttributeError, OSError):
            os.posix_fallocate(file.fileno(), 0, size)
        _each_chunk(file.name, "r+b", size, lambda f, i: _write(f, _chunk(seed, i, size)), f"writing {path.name}")
    return path


def _chunk(seed: int, i: int, size: int) -> np.ndarray:
    """(n,) uint8: chunk i of a file of `size` bytes; n is CHUNK, or what is left for the last one.

    `random_raw` gives what `Generator.integers` gives over all 64 bits. Of the two it is the one that numpy
    promises not to change (SFC64's documentation). It works outside the interpreter lock.
    """
    words = SFC64(SeedSequence([seed, i])).random_raw(CHUNK // 8)
    return words.astype("<u8", copy=False).view(np.uint8)[: size - i * CHUNK]


def _write(file: BinaryIO, chunk: np.ndarray) -> None:
    rest = memoryview(chunk)
    while rest:
        rest = rest[file.write(rest) :]


def _compare(file: BinaryIO, chunk: np.ndarray) -> None:
    if not np.array_equal(np.frombuffer(file.read(len(chunk)), np.uint8), chunk):
        raise _Differs


class _Differs(Exception):
    pass


def _is_ours(path: Path, size: int, seed: int) -> bool:
    if path.stat().st_size != size:
        return False
    try:
        _each_chunk(path, "rb", size, lambda f, i: _compare(f, _chunk(seed, i, size)), f"checking {path.name}")
    except _Differs:
        return False
    return True


def _begins_like_ours(path: Path, seed: int) -> bool:
    with path.open("rb") as file:
        found = file.read(CHUNK)
    return found == _chunk(seed, 0, len(found)).tobytes()


def _each_chunk(path: str | Path, mode: str, size: int, visit: Callable[[BinaryIO, int], None], title: str) -> None:
    """`visit(file, i)`, the file standing at chunk i, for every chunk; the first exception ends it all.

    Each thread opens the file for itself, so that none moves another's place (and os.pwrite, which Windows
    lacks, is not needed), and syncs what it wrote, so that the bar goes on while a slow disk catches up.
    """
    done, stop = [0] * THREADS, Event()

    def work(k: int) -> None:
        with open(path, mode, buffering=0) as file:
            for i in range(k, -(-size // CHUNK), THREADS):
                if stop.is_set():
                    return
                file.seek(i * CHUNK)
                visit(file, i)
                done[k] += 1
            if file.writable():
                os.fsync(file.fileno())

    bar = tqdm(
        desc=title, total=size, unit="iB", unit_scale=True, unit_divisor=1024, miniters=0, delay=PATIENCE, leave=False
    )
    with bar, ThreadPoolExecutor(THREADS) as pool:
        try:
            running = [pool.submit(work, k) for k in range(THREADS)]
            while running:
                ended, running = wait(running, 0.1, FIRST_EXCEPTION)  # never long: Windows cannot break a wait
                bar.update(min(sum(done) * CHUNK, size) - bar.n)
                for job in ended:
                    job.result()
        finally:
            stop.set()
