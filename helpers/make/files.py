"""Random files: made by two threads, compared if they already exist."""

import os
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import BinaryIO

import numpy as np
from numpy.random import SFC64, SeedSequence

from .. import units
from ..lasting import progress_bar
from ..whole import followed, whole_file
from .pieces import checked_seed, is_there, place

CHUNK = units.MiB
THREADS = 2  # one makes a chunk while the other writes; more wouldn't help, because writes to a file take turns


def random_file(path: str | os.PathLike, size: int | str, seed: int = 0) -> Path:
    """A file of `size` random bytes ("256 MiB", or an int) at `path`, on disk when the call returns.

    A bare name ("weights.bin") goes into `folders.generated()`; a path with a folder is used as is.
    The bytes depend only on seed and position: MiB number i is the output of SFC64, seeded with
    `SeedSequence([seed, i])`, as little-endian 64-bit words. So a shorter file is the start of a longer one.

    If the file already exists, its bytes are made again in memory and compared. A matching file is left as it is.
    Another file is replaced if nothing can be lost: in `folders.generated()`, or if its first MiB is ours (the file
    was truncated, extended, or damaged further on). Anything else stays: FileExistsError.

    Errors: ValueError (size or seed out of range), FileNotFoundError (no such folder), FileExistsError,
    IsADirectoryError, OSError with errno ENOSPC (not enough room). After any error, even Ctrl-C, nothing half-written
    stays. If a killed process left something, the next call for the same file removes it.
    """
    path, size, seed = place(path), units.size(size), checked_seed(seed)
    target, by = followed(path), f"random_file(seed={seed})"
    if is_there(target, by, lambda: is_random_file(target, size, seed), lambda: _begins_like_ours(target, seed)):
        return path
    with whole_file(target, size) as file:
        # With the space reserved, it can't run out on the way, and two threads write faster.
        with suppress(AttributeError, OSError):
            os.posix_fallocate(file.fileno(), 0, size)
        _each_chunk(file.name, "r+b", size, lambda f, i: _write(f, _chunk(seed, i, size)), f"writing {path.name}")
    return path


def _chunk(seed: int, i: int, size: int) -> np.ndarray:
    """(n,) uint8: chunk i of a file of `size` bytes; n is CHUNK, or less for the last chunk.

    `random_raw` gives the same bits as `Generator.integers` over all 64 bits, but numpy promises never to change
    `random_raw` (SFC64's documentation). It runs without the interpreter lock.
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


def is_random_file(path: Path, size: int, seed: int) -> bool:
    """Does the file hold exactly what `random_file` writes? To make its bytes again is faster than to digest them."""
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
    """Calls `visit(file, i)` for every chunk i, with the file at its start; the first exception ends it all.

    Each thread opens the file for itself, so they don't move each other's position (Windows has no os.pwrite). Each
    thread also syncs what it wrote, so the bar keeps moving while a slow disk catches up.
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

    bar = progress_bar(desc=title, total=size, unit="iB", unit_scale=True, unit_divisor=1024, miniters=0)
    with bar, ThreadPoolExecutor(THREADS) as pool:
        try:
            running = [pool.submit(work, k) for k in range(THREADS)]
            while running:
                ended, running = wait(running, 0.1, FIRST_EXCEPTION)  # short: on Windows, Ctrl-C can't end a wait
                bar.update(min(sum(done) * CHUNK, size) - bar.n)
                for job in ended:
                    job.result()
        finally:
            stop.set()
