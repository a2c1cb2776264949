"""A file arrives in parts. When all are there and the file is right, it takes the old one's place,
at once.

Parts are collected beside the file's place, in `.NAME.<begin of its SHA-256>.part`. A request that
writes there holds a lock on that file (flock(2)), which the kernel takes back when the process
ends. A process can be killed at any moment: what has arrived stays, and the next process goes on
with it.
"""

import asyncio
import errno
import hashlib
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import lru_cache
from pathlib import Path
from shutil import disk_usage

from starlette.requests import Request

from ..ideas.carts import MappedFile
from ..ideas.safetensors import SafetensorsError
from ..ideas.yoke import Yoke
from ..safe_files import regular_file, sync_folder
from .digits import digits_in
from .validation import DISK_FULL, LENGTH, Part, Refused, disk_full_is_refused
from .versions import version_at, version_of

LOCK_TIMEOUT_S = 15.0  # longer than lesson 02's client waits: it hangs up first, and asks again
STALE_S = 24 * 3600  # an unfinished file that nobody has added to for so long is removed


async def receive(request: Request, path: Path, part: Part) -> str | None:
    """Takes a part in. Returns the new version if it was the last part, and None if more must
    come.
    """
    parts = parts_of(path, part.digest)
    with disk_full_is_refused():
        async with locked(parts) as file:
            offset = os.fstat(file).st_size
            # from a request that gave another size: it can't become this file
            if offset > part.size:
                os.ftruncate(file, 0)
                offset = 0
            if part.first and not offset and (version := await published(path, part.digest)):
                # by an earlier request, whose client lost the connection before the answer
                return version
            # all is there, but unchecked
            check_again = part.first == part.last == part.size - 1 == offset - 1
            if part.first != offset and not check_again:
                headers = {"Upload-Offset": str(offset)}
                raise Refused(409, f"byte {offset} comes next, not {part.first}", headers=headers)
            if not offset:
                remove_stale(path.parent)
            if part.size - offset > disk_usage(path.parent).free:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            await write(request, file, part.first)
            if part.last + 1 < part.size:
                return None
            return await asyncio.to_thread(publish, file, parts, path, part.digest)


async def write(request: Request, file: int, at: int) -> None:
    """Writes the body to the file, piece by piece as it arrives; what has arrived when the
    connection breaks stays.
    """
    async for piece in request.stream():
        while piece:
            count = await asyncio.to_thread(os.pwrite, file, piece, at)
            at = at + count
            piece = piece[count:]


def publish(file: int, parts: Path, path: Path, digest: bytes) -> str:
    """Checks the file, and renames it to `path`. Whoever has the old file open or mapped keeps it.
    Synced before and after (fsync(2), rename(2)), so that a power cut leaves the old file or the
    new one. The time of the last change is set here, because the kernel's clock for it is coarse,
    and two versions must not look alike.
    """
    try:
        if sha256(parts) != digest:
            raise Refused(422, "the SHA-256 is wrong; begin again", "Repr-Digest")
        with Yoke.attach(MappedFile(parts), digits_in):
            pass
    except (Refused, SafetensorsError):
        os.ftruncate(file, 0)
        raise
    os.utime(file, ns=(now := time.time_ns(), now))
    version = version_of(os.fstat(file))
    os.fsync(file)
    os.rename(parts, path)
    sync_folder(path.parent)
    return version


async def published(path: Path, digest: bytes) -> str | None:
    """The version that `path` leads to, if it has this SHA-256."""
    version = version_at(path)
    return (
        version if version and await asyncio.to_thread(sha256_of, path, version) == digest else None
    )


@lru_cache(16)
def sha256_of(path: Path, version: str) -> bytes:
    """The checksum of a version, kept: a client that asks again costs no second reading."""
    return sha256(path)


def sha256(path: Path) -> bytes:
    with regular_file(path) as file:
        return hashlib.file_digest(file, "sha256").digest()


def parts_of(path: Path, digest: bytes) -> Path:
    return path.with_name(f".{path.name}.{digest.hex()[:16]}.part")


def collected(parts: Path, size: str) -> int:
    """How many bytes have arrived; 0 if they're more than the `size` that the client says, if it
    says one.
    """
    offset = parts.stat().st_size if parts.exists() else 0
    return 0 if LENGTH.fullmatch(size) and offset > int(size) else offset


@asynccontextmanager
async def locked(parts: Path) -> AsyncIterator[int]:
    """The file of parts, open and locked. 409 if another request keeps the lock for too long. An
    empty file is removed on exit; so is a partial one when the disk is full, since it can't be
    completed.
    """
    deadline = time.monotonic() + LOCK_TIMEOUT_S
    while (file := try_lock(parts)) is None:
        if time.monotonic() > deadline:
            raise Refused(409, "another request is bringing this file")
        await asyncio.sleep(0.02)
    try:
        yield file
    except OSError as error:
        if error.errno in DISK_FULL and leads_to(parts, file):  # it may have been published
            os.ftruncate(file, 0)
        raise
    finally:
        if not os.fstat(file).st_size:
            parts.unlink(missing_ok=True)
        os.close(file)


def try_lock(parts: Path) -> int | None:
    """The file of parts, open and locked; None if another request holds the lock, or has just
    published the file.
    """
    import fcntl  # Windows, where nobody serves, doesn't have it

    file = os.open(parts, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    with suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if leads_to(parts, file):
            return file
    os.close(file)
    return None


def leads_to(parts: Path, file: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file), os.stat(parts))
    return False


def remove_stale(folder: Path) -> None:
    """Removes unfinished files that nobody has added to for a day."""
    for parts in folder.glob(".*.part"):
        with suppress(OSError):  # it has just been published, or isn't a file
            if (
                parts.stat().st_mtime < time.time() - STALE_S
                and (file := try_lock(parts)) is not None
            ):
                parts.unlink()
                os.close(file)
