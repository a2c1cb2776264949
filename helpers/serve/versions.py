"""Which version of a model does a request get, and when is an old one unmapped?

Each request asks the file's name where it leads now (stat(2)). So as soon as a new file has taken the name, every
request to any worker gets it. A request borrows a yoke of its version: it ends on the version it began on, and the last
one to end unmaps it. No request waits until others have ended.

What takes long is done in a thread: to open a version, and to let go of one. (The last munmap(2) of a deleted file
frees its pages: a tenth of a second for 512 MiB.) What has begun goes on meanwhile, and only those that came for the
new version wait until it is open. They all wait for one task, so waiting takes no thread.
"""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from ..ideas.yoke import Yoke
from ..ideas.yoke_cache import YokeCache
from ..units import GiB, MiB
from .asked import Refused
from .budget import short
from .opening import Key, Superseded, opened, version_at

SMALL = 4 * MiB  # what is let go of in a millisecond, and needs no thread


class Versions:
    """The versions that this process has open. What they take of its own memory stays within `capacity` bytes."""

    def __init__(self, capacity: int = 2 * GiB) -> None:
        self.cache: YokeCache[Key] = YokeCache(capacity, opened, Key.weight)
        self.opening: dict[Key, asyncio.Task[Yoke]] = {}
        self.going: set[asyncio.Future[None]] = set()

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
            try:
                return key.version, (await asyncio.shield(self._task(key))).clone()
            except Superseded:
                continue

    def give_back(self, yoke: Yoke) -> None:
        """Releases a yoke, perhaps the last of its version."""
        if yoke.size < SMALL:
            yoke.release()
        else:
            going = asyncio.get_running_loop().run_in_executor(None, yoke.release)
            self.going.add(going)
            going.add_done_callback(self.going.discard)

    def _task(self, key: Key) -> asyncio.Task[Yoke]:
        """Opens a version, for all who wait for it. It goes on if one of them goes."""
        if key not in self.opening:
            task = self.opening[key] = asyncio.create_task(asyncio.to_thread(self._open, key))
            task.add_done_callback(lambda _: self.opening.pop(key))
        return self.opening[key]

    def _open(self, key: Key) -> Yoke:
        """A yoke. If it doesn't fit, others make room. MemoryError if that's not enough."""
        self.drop_outdated()
        waited = False
        while (yoke := self._fitting(key)) is None:
            if not self.let_go():
                if waited:
                    raise MemoryError
                time.sleep(0.1)  # a thread that has just answered may still hold what it answered from
                waited = True
        if short():
            self.let_go()
        return yoke

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
        """Are copies or tenants' weights kept, or still on their way out?"""
        return bool(self.going) or any(map(Key.private, self.cache.keys()))

    def _drop(self, which: Callable[[Key], bool]) -> bool:
        dropped = list(filter(which, self.cache.keys()))
        for key in dropped:
            self.cache.drop(key)
        return bool(dropped)
