"""Parts of a file are collected beside the file's place, in `.NAME.<begin of its SHA-256>.part`.

Whoever writes there holds a lock on that file (flock(2)), which the kernel takes back when the process ends. A folder
has at most MOST of them, so that nobody can fill it by beginning more and more files.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from .asked import FULL, Refused

try:
    import fcntl
except ImportError:  # Windows, where the lessons show this module but nobody serves
    fcntl = None

MOST = 16  # unfinished files in a folder
PATIENCE = 15.0  # seconds for another request to let go of the file; clients hang up before, and ask again


def parts_of(path: Path, digest: bytes) -> Path:
    return path.with_name(f".{path.name}.{digest.hex()[:16]}.part")


def collected(parts: Path) -> int:
    return parts.stat().st_size if parts.exists() else 0


@asynccontextmanager
async def alone(parts: Path) -> AsyncIterator[int]:
    """The file of parts, open and locked. If it's empty in the end, it goes; also if the disk is full: what can't be
    finished is of no use to anybody."""
    end = time.monotonic() + PATIENCE
    while (file := locked(parts)) is None:
        if time.monotonic() > end:
            raise Refused(409, "another request is bringing this file")
        await asyncio.sleep(0.02)
    try:
        yield file
    except OSError as error:
        if error.errno in FULL and at(parts, file):  # it may have been published
            os.ftruncate(file, 0)
        raise
    finally:
        if not os.fstat(file).st_size:
            parts.unlink(missing_ok=True)
        os.close(file)


def locked(parts: Path) -> int | None:
    """The file of parts, open and locked; None if another request holds the lock, or has just published the file."""
    file = os.open(parts, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    with suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if at(parts, file):
            return file
    os.close(file)
    return None


def at(parts: Path, file: int) -> bool:
    """Does the name lead to this open file?"""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file), os.stat(parts))
    return False


def make_room(new: Path) -> None:
    """If there are too many unfinished files, the oldest that nobody is adding to go. Refused if that's not enough."""
    unfinished = []
    for parts in new.parent.glob(".*.part"):
        with suppress(FileNotFoundError):  # it has just been published
            unfinished.append((parts.stat().st_mtime_ns, parts))
    too_many = len(unfinished) - MOST
    for _, parts in sorted(unfinished):
        if too_many > 0 and (file := locked(parts)) is not None:
            parts.unlink()
            os.close(file)
            too_many -= 1
    if too_many > 0:
        raise Refused(503, f"{MOST} files are arriving already", headers={"Retry-After": f"{PATIENCE:.0f}"})


def tidy(folder: Path) -> None:
    """At the start of a server: removes unfinished files that nobody has added to since the start before this one."""
    started = folder / ".started"
    if started.exists():
        for pattern in (".*.part", ".*.unfinished"):  # the second: helpers.whole, for a tenant's weights
            for left in folder.glob(pattern):
                if left.stat().st_mtime_ns < started.stat().st_mtime_ns:
                    left.unlink()
    started.touch()
