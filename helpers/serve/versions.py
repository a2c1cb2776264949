"""Which version of a model does a request get, how is it opened, and when is an old one unmapped?

Each request asks the file's name where it leads now (stat(2)). So as soon as a new file has taken
the name, every request to any worker gets it. A request borrows a yoke of its version: it ends on
the version it began on, and the last one to end unmaps it. No request waits until others have
ended.

What takes long is done in a thread: to open a version, and to let go of one. (The last munmap(2) of
a deleted file frees its pages: a tenth of a second for 512 MiB.) What has begun goes on meanwhile,
and only those that came for the new version wait until it is open. They all wait for one task, so
waiting takes no thread.
"""

import asyncio
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ..ideas.carts import EmptyFile
from ..ideas.safetensors import SafetensorsError
from ..ideas.yoke import Yoke
from ..ideas.yoke_cache import YokeCache
from ..units import GiB, MiB
from .digits import BACKENDS
from .validation import Refused

SMALL = 4 * MiB  # what is let go of in a millisecond, and needs no thread
SLOT = 4 * MiB  # more than a tenant's own weights take: they come in a body of at most 1 MiB


class Superseded(Exception):
    """While a version was opened, another one took its name."""


class Key(NamedTuple):
    """What a yoke in the cache was made from. `own` and `own_version`: a tenant's weights, or None
    and "".
    """

    path: Path
    version: str
    backend: str
    own: Path | None
    own_version: str

    def outdated(self) -> bool:
        """Does a name lead elsewhere now?"""
        return self.version != version_at(self.path) or bool(
            self.own and self.own_version != version_at(self.own)
        )

    def weight(self, yoke: Yoke) -> int:
        """The bytes that its yoke counts for in the cache: what it takes of this process's own
        memory, and no mapped file, whose pages are only lent. At least SLOT, which limits how many
        there are, too: each mapping keeps a descriptor, and a process often gets 1,024.
        """
        return max(SLOT, 0 if self.backend == "mapped" else yoke.size)


class Versions:
    """The versions that this process has open. What they take of its own memory stays within
    `capacity` bytes.
    """

    def __init__(self, capacity: int = 2 * GiB) -> None:
        self.cache: YokeCache[Key] = YokeCache(capacity, opened, Key.weight)
        self.opening: dict[Key, asyncio.Task[Yoke]] = {}

    async def lend(self, path: Path, backend: str, own: Path | None = None) -> tuple[str, Yoke]:
        """The version that `path` leads to, and a yoke of it, the caller's to give back."""
        while True:
            key = Key(path, version_at(path), backend, own, version_at(own) if own else "")
            if not key.version:
                raise Refused(404, f"there is no model {path.name}")
            if own and not key.own_version:
                raise Refused(404, "there is no such tenant")
            if (yoke := self.cache.kept(key)) is not None:
                return key.version, yoke
            # one task, for all who wait for it: it goes on if one of them goes
            if key not in self.opening:
                task = self.opening[key] = asyncio.create_task(asyncio.to_thread(self._open, key))
                task.add_done_callback(lambda _, key=key: self.opening.pop(key))
            try:
                return key.version, (await asyncio.shield(self.opening[key])).clone()
            except Superseded:
                continue

    def give_back(self, yoke: Yoke) -> None:
        """Releases a yoke, perhaps the last of its version."""
        if yoke.size < SMALL:
            yoke.release()
        else:
            asyncio.get_running_loop().run_in_executor(None, yoke.release)

    def _open(self, key: Key) -> Yoke:
        """A yoke. If it doesn't fit, others make room. MemoryError if that's not enough."""
        self.drop_outdated()
        yoke = None
        with suppress(MemoryError):
            yoke = self.cache.get(key)
        # not within an `except`: its traceback would keep what was copied until then
        if yoke is None:
            self.let_go()
            yoke = self.cache.get(key)
        return yoke

    def drop_outdated(self) -> None:
        """Drops what a name no longer leads to. It's unmapped when the last request on it ends."""
        for key in filter(Key.outdated, self.cache.keys()):
            self.cache.drop(key)

    def let_go(self) -> None:
        """Drops what takes memory of this process's own, copies and tenants' weights, to make
        room.
        """
        keys = self.cache.keys()
        for key in keys:
            if key.backend != "mapped" or key.own:
                self.cache.drop(key)


def version_of(status: os.stat_result) -> str:
    """A name for the bytes that a file has: no two files at one path have the same, one after the
    other.
    """
    return f"{status.st_ino:x}-{status.st_size:x}-{status.st_mtime_ns:x}"


def version_at(path: Path) -> str:
    """The version that the name leads to now; "" if there's no such file."""
    try:
        return version_of(os.stat(path))
    except FileNotFoundError:
        return ""


def opened(key: Key) -> Yoke:
    """Opens what the key says. Superseded if that's no longer there, which is found out
    afterwards.
    """
    try:
        weights = json.loads(key.own.read_bytes()) if key.own else {}
        yoke = BACKENDS[key.backend](key.path)
    except FileNotFoundError:
        raise Superseded from None
    # somebody overwrote what had been checked
    except (SafetensorsError, EmptyFile, Refused) as error:
        raise Refused(503, f"the file of {key.path.name} is damaged: {error}") from None
    if weights:
        try:
            yoke = yoke.map_project(lambda digits: digits.changed(weights))
        except ValueError:
            raise Refused(409, "the tenant's weights don't fit this version") from None
    if key.outdated():
        yoke.release()  # here, or the error's traceback would keep it
        raise Superseded
    return yoke
