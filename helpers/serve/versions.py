"""Which version of a model does a request get, and when is an old one unmapped?

Each request asks the file's name where it leads now (stat(2)). So as soon as a new file has taken the name, every
request to any worker gets it. A request borrows a yoke of its version: it ends on the version it began on, and the last
one to end unmaps it. No request waits until others have ended. A new version is opened in a thread: what has begun goes
on meanwhile, and only those that came for the new version wait until it is open.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

from ..ideas.yoke import Yoke
from ..ideas.yoke_cache import YokeCache
from ..units import GiB
from .asked import Refused
from .budget import short
from .opening import Key, Superseded, opened, version_at


class Versions:
    """The versions that this process has open."""

    def __init__(self, capacity: int = 2 * GiB) -> None:
        self.cache: YokeCache[Key] = YokeCache(capacity, opened)
        self.keys: set[Key] = set()

    async def lend(self, path: Path, backend: str, own: Path | None = None) -> tuple[str, Yoke]:
        """The version that `path` leads to, and a yoke of it, the caller's to release."""
        waited = False
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
                yoke = await asyncio.to_thread(self._fitting, key)
            except Superseded:
                continue
            if yoke is None:
                if not self.let_go():
                    if waited:
                        raise MemoryError
                    await asyncio.sleep(0.1)  # a thread that has just answered may still hold what it answered from
                    waited = True
                continue
            self.keys.add(key)
            if short():
                self.let_go()
            return key.version, yoke

    def _fitting(self, key: Key) -> Yoke | None:
        """A yoke, or None if the version doesn't fit. A MemoryError that left this thread would keep what was copied
        until then, by its traceback, and there would be no room for another try."""
        try:
            return self.cache.get(key)
        except MemoryError:
            return None

    def drop_outdated(self) -> None:
        """Drops what a name no longer leads to. It's unmapped when the last request on it ends."""
        self._drop(Key.outdated)

    def let_go(self) -> bool:
        """Drops copies and tenants' weights, to make room. Was there any?"""
        return self._drop(Key.private)

    @property
    def copies(self) -> bool:
        """Are copies or tenants' weights kept?"""
        return any(map(Key.private, self.keys))

    def _drop(self, which: Callable[[Key], bool]) -> bool:
        dropped = set(filter(which, self.keys))
        self.keys -= dropped
        for key in dropped:
            self.cache.drop(key)
        return bool(dropped)
