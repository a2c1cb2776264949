"""A file arrives in parts. When all are there and the file is right, it takes the old one's place, at once.

A process can be killed at any moment: what has arrived stays (`parts`), and the next process goes on with it.
"""

import asyncio
import errno
import hashlib
import os
import time
from functools import lru_cache
from pathlib import Path
from shutil import disk_usage

from starlette.requests import Request

from ..ideas.carts import MappedFile
from ..ideas.safetensors import SafetensorsError
from ..ideas.yoke import Yoke
from ..whole import regular_file
from .asked import Part, Refused, room_on_disk
from .digits import digits_in
from .opening import version_at, version_of
from .parts import alone, make_room, parts_of


async def receive(request: Request, path: Path, part: Part) -> str | None:
    """Takes a part in. Returns the new version if it was the last part, and None if more must come.

    507 if the disk is full.
    """
    parts = parts_of(path, part.digest)
    with room_on_disk():
        async with alone(parts) as file:
            there = os.fstat(file).st_size
            if part.first and not there and (version := await published(path, part.digest)):
                return version  # by an earlier request, whose client lost the connection before the answer
            again = part.first == part.last == part.size - 1 == there - 1  # all is there, and was never checked
            if part.first != there and not again:
                why = f"byte {there} comes next, not {part.first}"
                raise Refused(409, why, headers={"Upload-Offset": str(there)})
            if not there:
                make_room(parts)
            if part.size - there > disk_usage(parts.parent).free:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            await write(request, file, part.first)
            if part.last + 1 < part.size:
                return None
            return await asyncio.to_thread(publish, file, parts, path, part.digest)


async def write(request: Request, file: int, at: int) -> None:
    """Writes the body to the file, piece by piece as it arrives.

    What has arrived when the connection breaks stays.
    """
    async for piece in request.stream():
        while piece:
            count = await asyncio.to_thread(os.pwrite, file, piece, at)
            at, piece = at + count, piece[count:]


def publish(file: int, parts: Path, path: Path, digest: bytes) -> str:
    """Checks the file, and renames it to `path`.

    Whoever has the old file open or mapped keeps it. Synced before and after (fsync(2),
    rename(2)), so that a power cut leaves the old file or the new one. The time of the
    last change is set here, because the kernel's clock for it is coarse, and two
    versions must not look alike.
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
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return version


async def published(path: Path, digest: bytes) -> str:
    """The version that `path` leads to, if it has this SHA-256; else ""."""
    version = version_at(path)
    return version if version and await asyncio.to_thread(sha256_of, path, version) == digest else ""


@lru_cache(16)
def sha256_of(path: Path, version: str) -> bytes:
    """The checksum of a version, kept: a client that asks again costs no second reading."""
    with regular_file(path):
        return sha256(path)


def sha256(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
