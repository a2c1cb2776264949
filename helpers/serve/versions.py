"""Which version of a model does a request get, and when is an old one unmapped?

Each request asks the file's name where it leads now (stat(2)). So as soon as a new file has taken the name, every
request to any worker gets it. A request borrows a yoke of its version: it ends on the version it began on, and the last
one to end unmaps it. Nobody waits for a swap, because a new version is opened in a thread.
"""

import asyncio
import gc
import json
import os
from pathlib import Path
from typing import NamedTuple

from ..ideas.carts import EmptyFile
from ..ideas.safetensors import SafetensorsError
from ..ideas.yoke import Yoke
from ..ideas.yoke_cache import YokeCache
from ..units import GiB
from .asked import Refused
from .budget import short
from .digits import BACKENDS

SWEEP = 0.25  # seconds between looks for versions that nobody asks for any more


class Superseded(Exception):
    """While a version was opened, another one took its name."""


class Key(NamedTuple):
    """What a yoke in the cache was made from. `own` and `own_version`: a tenant's changes, or None and ""."""

    path: Path
    version: str
    backend: str
    own: Path | None
    own_version: str


def version_of(found: os.stat_result) -> str:
    """A name for the bytes that a file has: no two files at one path have the same, one after the other."""
    return f"{found.st_ino:x}-{found.st_size:x}-{found.st_mtime_ns:x}"


def version_at(path: Path) -> str:
    """The version that the name leads to now; "" if there's no such file."""
    try:
        return version_of(os.stat(path))
    except FileNotFoundError:
        return ""


class Versions:
    """The versions that this process has open."""

    def __init__(self, capacity: int = 2 * GiB) -> None:
        self.cache: YokeCache[Key] = YokeCache(capacity, opened)
        self.keys: set[Key] = set()

    async def lend(self, path: Path, backend: str, own: Path | None = None) -> tuple[str, Yoke]:
        """The version that `path` leads to, and a yoke of it, the caller's to release."""
        while True:
            key = Key(path, version_at(path), backend, own, version_at(own) if own else "")
            if not key.version:
                raise Refused(404, f"there is no model {path.name}")
            if own and not key.own_version:
                raise Refused(404, "there is no such tenant")
            if key in self.cache:
                return key.version, self.cache.get(key)
            self.drop_outdated()
            try:
                yoke = await asyncio.to_thread(self.cache.get, key)
            except Superseded:
                continue
            except MemoryError:
                if not self.let_go():
                    raise
                continue
            self.keys.add(key)
            if short():
                self.let_go()
            return key.version, yoke

    def drop_outdated(self) -> None:
        """Drops what a name no longer leads to. It's unmapped when the last request on it ends."""
        for key in list(self.keys):
            if key.version != version_at(key.path) or (key.own and key.own_version != version_at(key.own)):
                self._drop(key)

    def let_go(self) -> bool:
        """Drops what is kept in this process's own memory, copies and tenants' weights. False if nothing is."""
        own = [key for key in self.keys if key.backend != "mapped" or key.own]
        for key in own:
            self._drop(key)
        return bool(own)

    def _drop(self, key: Key) -> None:
        self.cache.drop(key)
        self.keys.discard(key)

    async def sweep(self) -> None:
        """Lets go of old versions in a worker that no request wakes. If memory is short, also of copies, and of what
        broken connections have left."""
        while True:
            await asyncio.sleep(SWEEP)
            self.drop_outdated()
            if short():
                self.let_go()
                gc.collect()


def opened(key: Key) -> Yoke:
    """Opens what the key says. Superseded if that's no longer there, which is found out afterwards."""
    try:
        yoke = BACKENDS[key.backend](key.path)
        changes = json.loads(key.own.read_bytes()) if key.own else {}
    except FileNotFoundError:
        raise Superseded from None
    except (SafetensorsError, EmptyFile, Refused) as error:  # somebody overwrote what had been checked
        raise Refused(503, f"the file of {key.path.name} is damaged: {error}") from None
    if changes:
        try:
            yoke = yoke.map_project(lambda digits: digits.changed(changes))
        except ValueError:
            raise Refused(409, "the tenant's weights don't fit this version") from None
    if key.version != version_at(key.path) or (key.own and key.own_version != version_at(key.own)):
        raise Superseded
    return yoke
